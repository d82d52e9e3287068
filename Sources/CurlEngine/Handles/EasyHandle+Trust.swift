import CCurl

/// The options of TLS.
extension EasyHandle {
    /// libcurl's options for one of the two peers of TLS.
    private struct Options {
        let version, verifiesPeer, verifiesHost, file, folder, blob, revocationFile: CURLoption
        let cipherList, cipherSuites, identity, identityKind: CURLoption

        static let server = Options(
            version: CURLOPT_SSLVERSION, verifiesPeer: CURLOPT_SSL_VERIFYPEER, verifiesHost: CURLOPT_SSL_VERIFYHOST,
            file: CURLOPT_CAINFO, folder: CURLOPT_CAPATH, blob: CURLOPT_CAINFO_BLOB, revocationFile: CURLOPT_CRLFILE,
            cipherList: CURLOPT_SSL_CIPHER_LIST, cipherSuites: CURLOPT_TLS13_CIPHERS, identity: CURLOPT_SSLCERT_BLOB,
            identityKind: CURLOPT_SSLCERTTYPE)
        static let proxy = Options(
            version: CURLOPT_PROXY_SSLVERSION, verifiesPeer: CURLOPT_PROXY_SSL_VERIFYPEER,
            verifiesHost: CURLOPT_PROXY_SSL_VERIFYHOST, file: CURLOPT_PROXY_CAINFO, folder: CURLOPT_PROXY_CAPATH,
            blob: CURLOPT_PROXY_CAINFO_BLOB, revocationFile: CURLOPT_PROXY_CRLFILE,
            cipherList: CURLOPT_PROXY_SSL_CIPHER_LIST, cipherSuites: CURLOPT_PROXY_TLS13_CIPHERS,
            identity: CURLOPT_PROXY_SSLCERT_BLOB, identityKind: CURLOPT_PROXY_SSLCERTTYPE)
    }

    /// Sets the options of TLS with servers on a handle without others. Returns `false` if libcurl refuses one of them.
    ///
    /// - Parameter path: The path of a file with the authorities, if they are a text that is not to be copied.
    func apply(_ trust: TransferTrust, authorities path: String? = nil) -> Bool {
        unsafe ccurl_set_tls_function(curl, Callbacks.tls)
        _ = unsafe ccurl_set_pointer(curl, CURLOPT_SSL_CTX_DATA, Unmanaged.passUnretained(self).toOpaque())
        let rules = trust.server
        guard apply(rules, .server, authorities: path) else { return false }
        guard rules.requiresStapledResponse else { return true }
        return unsafe ccurl_set_long(curl, CURLOPT_SSL_VERIFYSTATUS, 1) == CURLE_OK
    }

    /// Sets the options of TLS with an HTTPS proxy on a handle without others. libcurl cannot demand a stapled response of a proxy.
    func applyToProxy(_ trust: TransferTrust) -> Bool { apply(trust.proxy, .proxy) }

    private func apply(_ rules: TransferTrust.Rules, _ options: Options, authorities path: String? = nil) -> Bool {
        guard setVersions(rules, options), setAuthorities(rules, options, at: path) else { return false }
        if let lists = rules.revocationLists {
            guard accepts(options.revocationFile, lists.path) else { return false }
        }
        if let ciphers = rules.cipherList {
            guard accepts(options.cipherList, ciphers) else { return false }
        }
        if let ciphers = rules.cipherSuites {
            guard accepts(options.cipherSuites, ciphers) else { return false }
        }
        guard let identity = rules.identity else { return true }
        return accepts(options.identityKind, "PEM") && accepts(options.identity, identity)
    }

    private func setVersions(_ rules: TransferTrust.Rules, _ options: Options) -> Bool {
        let minimum = rules.minimumVersion == .v1_2 ? CURL_SSLVERSION_TLSv1_2 : CURL_SSLVERSION_TLSv1_3
        let maximum =
            switch rules.maximumVersion {
            case nil: CURL_SSLVERSION_MAX_NONE
            case .v1_2: CURL_SSLVERSION_MAX_TLSv1_2
            case .v1_3: CURL_SSLVERSION_MAX_TLSv1_3
            }
        return unsafe ccurl_set_long(curl, options.version, Int(minimum) | Int(maximum)) == CURLE_OK
    }

    private func setAuthorities(_ rules: TransferTrust.Rules, _ options: Options, at path: String?) -> Bool {
        switch rules.authorities {
        case .unverified:
            set(options.verifiesPeer, 0)
            set(options.verifiesHost, 0)
            return true
        case .unread: return false
        case .system:
            guard let bundle = rules.system.path else { return true }
            // With a directory of certificates, libcurl would not cache the parsed bundle.
            return accepts(options.folder, nil) && accepts(options.file, bundle)
        case .pem(_, let withSystem) where path != nil:
            return accepts(options.folder, withSystem ? rules.system.directory : nil) && accepts(options.file, path)
        case .pem(let text, withSystem: false):
            // libcurl does not read its file if there is a text.
            return accepts(options.folder, nil) && accepts(options.blob, text)
        case .pem(let text, withSystem: true):
            if let directory = rules.system.directory {
                return accepts(options.folder, directory) && accepts(options.blob, text)
            }
            return accepts(options.folder, nil) && accepts(options.blob, text + [10] + rules.system.contents)
        }
    }

    private func accepts(_ option: CURLoption, _ bytes: [UInt8]) -> Bool {
        unsafe bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return false }
            return unsafe ccurl_set_blob(curl, option, start, bytes.count) == CURLE_OK
        }
    }

    // MARK: Handshakes

    /// Prepares a new handle to make only the handshakes for a transfer, on a socket that the engine has connected with a peer
    /// (``socket``).
    /// A SOCKS proxy is asked for the address `far` if it wants one. Returns `false` if libcurl refuses an option.
    func prepareHandshake(for transfer: Transfer, with peer: Peer, asking far: IPAddress?) -> Bool {
        let options = transfer.options
        setCommonOptions(for: transfer)
        unsafe ccurl_set_opensocket_function(curl, Callbacks.giveSocket)
        unsafe ccurl_set_closesocket_function(curl, Callbacks.keepSocket)
        let isTrusted = apply(options.trust, authorities: options.trust.authoritiesPath)
        return unsafe isTrusted && applyRoute(of: transfer, connectedWith: peer, asking: far)
            && ccurl_set_sockets_connected(curl, options.route.isConnectedByEngine) == CURLE_OK
            && ccurl_set_url(curl, options.url.handle) == CURLE_OK
            && ccurl_set_long(curl, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) == CURLE_OK
            && ccurl_set_long(curl, CURLOPT_SSL_ENABLE_ALPN, LibcurlFeatures.current.preparesSessions ? 0 : 1)
                == CURLE_OK
            && ccurl_set_long(curl, CURLOPT_CONNECT_ONLY, 1) == CURLE_OK
    }

    /// Prepares the context of a TLS session that libcurl is about to set up.
    func beginHandshake(_ context: UnsafeMutableRawPointer?) -> CURLcode {
        // Without its rules, no server is trusted.
        guard let transfer else { return CURLE_ABORTED_BY_CALLBACK }
        let (peer, host) = nextTLSPeer(of: transfer)
        transfer.reportHandshake(with: host)
        let rules = transfer.options.trust.rules(for: peer)
        handshake = TLSRecord(of: peer, host: host, hasIdentity: rules.identity != nil)
        unsafe handshake?.begin(context, verifies: rules.verifies, keyLog: rules.keyLog)
        // Another TLS library than the OpenSSL at hand keeps libcurl's rules.
        if let tls = transfer.wire.tls, LibcurlFeatures.current.preparesSessions {
            // A proxy speaks HTTP/1.1.
            let offer =
                peer == .proxy
                ? TransferOptions.onlyHTTP1
                : transfer.options.offeredProtocols(mustSpeakHTTP1: transfer.wire.mustSpeakHTTP1)
            guard
                unsafe ccurl_tls_allow_taking(context, tls.kind == .taken)
                    && ccurl_tls_offer(context, offer, offer.utf8.count)
            else { return CURLE_SSL_CERTPROBLEM }
        }
        guard rules.verifies else { return CURLE_OK }
        return unsafe ccurl_tls_verify_host(context, host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host)
    }

    /// Returns the peer of the TLS session that libcurl is about to set up: the proxy first, and inside of that session the server.
    private func nextTLSPeer(of transfer: Transfer) -> (peer: TLSPeer, host: String) {
        guard let proxy = route?.proxy, proxy.scheme == .https, !isProxySecured else {
            return (.server, transfer.options.url.name)
        }
        isProxySecured = true
        return (.proxy, proxy.host.withoutFinalDot)
    }

    // MARK: Results

    /// OpenSSL's session of the current connection; `nil` if there is none.
    var tlsSession: OpaquePointer? { unsafe OpaquePointer(ccurl_tls_session(curl)) }
}
