/// The certificates of ``RealTLSServer``.
enum RealTrustCertificates {
    /// The passphrase of encrypted keys.
    static let passphrase = "pa:ss wörd"

    /// A shell script that makes the certificates with `openssl` in the current folder, and prints `made`.
    ///
    /// A certificate is NAME.pem, its key NAME.key, it and its issuers without the root NAME.chain, and the pin of its key NAME.pin. Each
    /// has its name as the common name, and is for NAME.example. The passphrase of encrypted keys is the variable `passphrase`.
    static let script = functions + servers + clients + revocation

    /// The roots are those of servers (`root`, `second`), one of clients (`clients`), and one that plays no part (`stranger`).
    private static let functions = """
        set -e
        cat > openssl.cnf <<'END'
        [req]
        distinguished_name = subject
        [subject]
        [ca]
        default_ca = issuer
        [issuer]
        database = ${ENV::ISSUER}.index
        certificate = ${ENV::ISSUER}.pem
        private_key = ${ENV::ISSUER}.key
        new_certs_dir = issued
        default_md = sha256
        default_crl_days = 1
        default_days = 30
        policy = policy
        unique_subject = no
        rand_serial = yes
        [policy]
        commonName = supplied
        [root]
        subjectKeyIdentifier = hash
        basicConstraints = critical, CA:true
        keyUsage = critical, keyCertSign, cRLSign, digitalSignature
        [authority]
        subjectKeyIdentifier = hash
        authorityKeyIdentifier = keyid
        basicConstraints = critical, CA:true
        keyUsage = critical, keyCertSign, cRLSign, digitalSignature
        [limited]
        subjectKeyIdentifier = hash
        authorityKeyIdentifier = keyid
        basicConstraints = critical, CA:true
        keyUsage = critical, keyCertSign, cRLSign, digitalSignature
        nameConstraints = critical, permitted;DNS:allowed.example
        [server]
        authorityKeyIdentifier = keyid
        basicConstraints = CA:false
        extendedKeyUsage = serverAuth
        subjectAltName = ${ENV::NAMES}
        [nameless]
        authorityKeyIdentifier = keyid
        basicConstraints = CA:false
        extendedKeyUsage = serverAuth
        [client]
        authorityKeyIdentifier = keyid
        basicConstraints = CA:false
        extendedKeyUsage = clientAuth
        subjectAltName = ${ENV::NAMES}
        END
        mkdir issued
        export ISSUER=root NAMES=DNS:localhost
        curve="ec -pkeyopt ec_paramgen_curve:P-256"
        itself() {
            openssl req -config openssl.cnf -x509 -newkey $curve -nodes -keyout $1.key -out $1.pem -subj "/CN=$1" -days 30 $2 $3
        }
        root() {
            itself $1 -extensions root
            touch $1.index $1.chain
        }
        issue() {
            ISSUER=$1 name=$2 extensions=$3
            shift 3
            openssl req -config openssl.cnf -newkey ${key:-$curve} -nodes -keyout $name.key -out $name.csr -subj "/CN=$name"
            openssl ca -config openssl.cnf -batch -notext -in $name.csr -out $name.pem -extensions $extensions "$@"
            cat $name.pem $ISSUER.chain > $name.chain
            touch $name.index
        }
        server() {
            NAMES=DNS:$2.example
            issue "$@"
        }
        for name in root second clients stranger; do root $name; done
        issue root intermediate authority
        issue root limited limited
        issue clients issuer authority

        """

    private static let servers = """
        NAMES=DNS:good.example,DNS:*.good.example,DNS:plain.example,DNS:pinned.example,DNS:mutual.example
        issue intermediate good server
        server second other server
        server intermediate expired server -startdate 20190102030405Z -enddate 20200102030405Z
        server intermediate not-yet server -startdate 20900102030405Z -enddate 20910102030405Z
        NAMES=DNS:else.example,DNS:*.else.example
        issue intermediate wrong-host server
        server intermediate client-usage client
        itself self-signed -addext subjectAltName=DNS:self-signed.example
        cp self-signed.pem self-signed.chain
        server intermediate no-intermediate server
        cp no-intermediate.pem no-intermediate.chain
        server intermediate common-name nameless -subj /CN=common-name.example
        server limited constrained server
        key=rsa:1024
        server intermediate weak-key server
        key=
        server intermediate sha1 server -md sha1
        server intermediate revoked server
        server intermediate stray server
        cat stray.pem intermediate.pem stranger.pem > stray.chain
        for name in good intermediate root stranger; do
            openssl x509 -in $name.pem -pubkey -noout | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary |
                base64 > $name.pin
        done

        """

    private static let clients = """
        for name in ada berta; do server issuer $name client; done
        server second eve client
        openssl pkcs12 -export -in ada.pem -inkey ada.key -certfile issuer.pem -out ada.p12 -passout pass:
        openssl pkcs12 -export -in ada.pem -inkey ada.key -certfile issuer.pem -out secret.p12 -passout "pass:$passphrase"
        openssl pkey -in ada.key -aes256 -passout "pass:$passphrase" -out secret.key

        """

    /// The lists are for the chains of `root`. The responses of OCSP are for two of the certificates.
    private static let revocation = """
        list() { ISSUER=$1 openssl ca -config openssl.cnf -gencrl; }
        list root > root.crl
        list intermediate | cat - root.crl > empty.crl
        ISSUER=intermediate
        openssl ca -config openssl.cnf -revoke revoked.pem
        list intermediate | cat - root.crl > revoking.crl
        for name in good revoked; do
            openssl ocsp -index intermediate.index -CA intermediate.pem -rsigner intermediate.pem -rkey intermediate.key \
                -issuer intermediate.pem -cert $name.pem -no_nonce -ndays 1 -respout $name.ocsp
        done
        echo made

        """
}
