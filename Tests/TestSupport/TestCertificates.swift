package import TrellisCore

/// Certificates that OpenSSL has made: of a root, and of a server.
package enum TestCertificates {
    /// The subject has two letters beyond ASCII, quotation marks and an ampersand; all kinds of alternative names occur.
    package static let leafPEM = """
        -----BEGIN CERTIFICATE-----
        MIICVzCCAf2gAwIBAgIRAPHi08S1ppeId2ZVRDMiEQAwCgYIKoZIzj0EAwIwPDEL
        MAkGA1UEBhMCVVMxFjAUBgNVBAoMDUV4YW1wbGUsIEluYy4xFTATBgNVBAMMDEV4
        YW1wbGUgUm9vdDAgFw0yNjExMjMwNzAxMTJaGA8yMDgxMDgyNjA3MDExMlowRDEL
        MAkGA1UEBhMCREUxGzAZBgNVBAoMEk3DvGxsZXIgIiYgU8O2aG5lIjEYMBYGA1UE
        AwwPd3d3LmV4YW1wbGUuY29tMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEyGvw
        vcZqIJHHLjHt5+H1CxEoOhLOjUcUAxVnlG6k/S17v3bmVDzZjKFNafbZ0bDS+7PC
        vGl+I/+f+YQiWiHhSKOB1TCB0jB7BgNVHREEdDBygg93d3cuZXhhbXBsZS5jb22C
        DSouZXhhbXBsZS5jb22HBMAAAgGHECABDbgAAAAAAAAAAAAAAAGHEAAAAAAAAAAA
        AAAAAAAAAAGGFWh0dHBzOi8vZXhhbXBsZS5jb20vYYEPYWRhQGV4YW1wbGUuY29t
        MBMGA1UdJQQMMAoGCCsGAQUFBwMBMB0GA1UdDgQWBBTCj6pJRmzaKYzSTkUs3I05
        Ug9QpTAfBgNVHSMEGDAWgBT+cxp7tYRr3K8lWvA4/GRPlzg0LzAKBggqhkjOPQQD
        AgNIADBFAiBY8WVL4YpgbHnluUpl/KsZLYfkLfiGyujDvzbtDiDxQQIhAM4Q8EO+
        Hqd+3OaxI5Tz3G6CruIe6pTAMlN0/RkCclws
        -----END CERTIFICATE-----

        """

    /// The subject has a comma.
    package static let rootPEM = """
        -----BEGIN CERTIFICATE-----
        MIIBzTCCAXOgAwIBAgIUTxYo4zC7hZnCkm1619Z0qMTZerEwCgYIKoZIzj0EAwIw
        PDELMAkGA1UEBhMCVVMxFjAUBgNVBAoMDUV4YW1wbGUsIEluYy4xFTATBgNVBAMM
        DEV4YW1wbGUgUm9vdDAeFw0yNjExMjMwNzAxMTJaFw00NjExMTgwNzAxMTJaMDwx
        CzAJBgNVBAYTAlVTMRYwFAYDVQQKDA1FeGFtcGxlLCBJbmMuMRUwEwYDVQQDDAxF
        eGFtcGxlIFJvb3QwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASsp9f1PZKR3FWE
        ZhepXXt4gVYvTSXxnp6AAMCD3lsQmFhsUBgY7Ly4hgAI1GvvDYGB4qM3lcJPUMT0
        JeKFZFhwo1MwUTAdBgNVHQ4EFgQU/nMae7WEa9yvJVrwOPxkT5c4NC8wHwYDVR0j
        BBgwFoAU/nMae7WEa9yvJVrwOPxkT5c4NC8wDwYDVR0TAQH/BAUwAwEB/zAKBggq
        hkjOPQQDAgNIADBFAiBumvBS8rdoSBUuyDTjXeBliP93A83dAHo4+r72UYMr/QIh
        AMojQy5gLxSyNtEuFyfNr4r7WroTgCGUhgcaw+cwLiqZ
        -----END CERTIFICATE-----

        """

    /// A revocation list of another authority, without entries.
    package static let revocationListPEM = """
        -----BEGIN X509 CRL-----
        MIGkMEsCAQEwCgYIKoZIzj0EAwIwDDEKMAgGA1UEAwwBeBcNMjYxMTI1MjEyODE3
        WhcNMjYxMjA1MjEyODE3WqAOMAwwCgYDVR0UBAMCAQEwCgYIKoZIzj0EAwIDSQAw
        RgIhAP7axUIxXWS50f4ecjK4NOk1NCBT11YfM7prrm4YmRDNAiEA4dqcaRZ0JyeY
        S0WEUCFzHC8XR290WaZPTtqqvlJpThQ=
        -----END X509 CRL-----

        """

    /// The pins of the two, as OpenSSL's command line has computed them.
    package static let leafPin = "sha256/Rr1nQmtJ4P1RHkgXKp/fA8NfgzGV+oExlQnX4Bdkndo="
    package static let rootPin = "sha256/xMkaDk+plkSAJ2ZdJTvi1Yf1GJzYHODAElqIcLil0y4="
    /// A pin of no certificate.
    package static let otherPin = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="

    /// The server's certificate and the root's.
    package static func chain() throws -> [Certificate] {
        try Certificate.certificates(pemRepresentation: leafPEM + rootPEM)
    }

    /// A validated chain of both, or the same certificates in another role.
    package static func trust(
        sent: [Certificate]? = nil, isValidated: Bool = true, checks: ServerTrust.RevocationChecks = []
    ) throws -> ServerTrust {
        let chain = try chain()
        return ServerTrust(
            host: "www.example.com", chain: isValidated ? chain : Array(chain.prefix(1)), sentChain: sent,
            isValidated: isValidated, revocationChecks: checks)
    }
}
