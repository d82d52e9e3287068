/// The configuration of the nginx of ``RealTLSServer``.
enum RealTrustNginx {
    /// The names of the ports: one with HTTP/2, one without it, and one with TLS 1.0 and 1.1.
    static let ports = ["nginx", "nginx-http1", "nginx-old"]

    /// The hosts, without `.example`. The others have the certificate of `good`.
    private static let hosts =
        [
            "good", "revoked", "other", "expired", "not-yet", "wrong-host", "client-usage", "self-signed",
            "no-intermediate", "common-name", "constrained", "weak-key", "sha1", "stray",
        ] + others
    private static let others = ["plain", "pinned", "mutual"]
    /// The hosts with a stapled OCSP response.
    private static let stapled = ["good", "revoked"]

    /// Returns the configuration for files in the current folder.
    ///
    /// A response is the version of TLS, `r` for a resumed TLS session or `.`, and the number of the request on its connection. That of
    /// `mutual.example`, which demands a client certificate, is the subject of the certificate and the number of the connection.
    /// `/close` is the last request of its connection, and `/cipher` responds with the version and the cipher of TLS. Requests for
    /// `/to/PORT/PATH` are sent on to /PATH of that port, without TLS; the response has the subject and the number in the field `X-Client`.
    static func configuration(_ ports: [String: Int], isRoot: Bool) -> String {
        func listen(_ port: String, _ options: String) -> String { "listen 127.0.0.1:\(ports[port] ?? 0) \(options);" }
        let servers =
            hosts.map { server($0, listen("nginx", "ssl http2")) } + [
                server("good", listen("nginx-http1", "ssl")),
                server("good", listen("nginx-old", "ssl") + " ssl_protocols TLSv1 TLSv1.1;"),
            ]
        return """
            \(isRoot ? "user root;" : "")
            daemon off;
            worker_processes 1;
            pid nginx.pid;
            error_log error.log;
            events {}
            http {
                log_format line "$host $request_uri";
                access_log access.log line;
                # A connection has as many requests as a test sends until a change shows.
                keepalive_requests 1000000;
                \(temporaryFolders)
                ssl_ciphers ALL:@SECLEVEL=0;
                ssl_protocols TLSv1.2 TLSv1.3;
            \(servers.joined(separator: "\n"))
            }

            """
    }

    /// The lines of a configuration that keep temporary files in the current folder.
    static let temporaryFolders = """
        client_body_temp_path nginx-body;
        proxy_temp_path nginx-proxy;
        fastcgi_temp_path nginx-fastcgi;
        uwsgi_temp_path nginx-uwsgi;
        scgi_temp_path nginx-scgi;
        """

    private static func server(_ name: String, _ listen: String) -> String {
        let certificate = others.contains(name) ? "good" : name
        let staple = stapled.contains(name) ? "ssl_stapling on; ssl_stapling_file \(name).ocsp;" : ""
        let isMutual = name == "mutual"
        let clients = isMutual ? "ssl_client_certificate clients.pem; ssl_verify_depth 2; ssl_verify_client on;" : ""
        let text =
            isMutual ? "$ssl_client_s_dn $connection" : "$ssl_protocol $ssl_session_reused $connection_requests"
        return """
            server {
                \(listen)
                server_name \(name).example;
                ssl_certificate \(certificate).chain;
                ssl_certificate_key \(certificate).key;
                \(staple) \(clients)
                location / { return 200 "\(text)"; }
                location = /close { keepalive_timeout 0; return 200 "\(text)"; }
                location = /cipher { return 200 "$ssl_protocol $ssl_cipher"; }
                location ~ ^/to/([0-9]+)(/.*)$ {
                    add_header X-Client "$ssl_client_s_dn $connection";
                    proxy_pass http://127.0.0.1:$1$2;
                }
            }
            """
    }
}
