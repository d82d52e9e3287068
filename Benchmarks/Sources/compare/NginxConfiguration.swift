/// The configuration of an nginx with a single worker.
struct NginxConfiguration {
    let folder: String
    /// The name of the configuration, which is also that of its files.
    let name: String
    /// The blocks of the servers.
    private let servers: String

    /// Returns the configuration of the nginx that serves everything that nginx can serve.
    ///
    /// - Parameters:
    ///   - testServerPort: The port of the server of late responses, no responses and uploads, for requests over TLS.
    ///   - tlsAddresses: The number of loopback addresses with TLS.
    static func single(
        folder: String, port: UInt16, tlsPort: UInt16, testServerPort: UInt16, tlsAddresses: Int
    ) -> NginxConfiguration {
        let listening = (0..<tlsAddresses).map { "listen \(address($0)):\(tlsPort) backlog=4096 ssl http2;" }
        let testServer = "proxy_read_timeout 180s; proxy_pass http://127.0.0.1:\(testServerPort);"
        let plain = "server { listen 127.0.0.1:\(port) backlog=4096; \(locations) }"
        let secure = """
            server {
                \(listening.joined(separator: "\n"))
                ssl_certificate \(folder)/server.pem;
                ssl_certificate_key \(folder)/server.key;
                ssl_protocols TLSv1.2 TLSv1.3;
                client_header_timeout 180s;
                http2_body_preread_size 1m;
                location /gathered/ { \(testServer) }
                location /never { \(testServer) }
                location /upload {
                    client_max_body_size 0;
                    client_body_buffer_size 1m;
                    proxy_request_buffering off;
                    proxy_http_version 1.1;
                    \(testServer)
                }
                \(locations)
            }
            """
        return NginxConfiguration(folder: folder, name: "nginx", servers: "\(plain)\n\(secure)")
    }

    /// Returns the configuration of an nginx that listens on many loopback addresses, which are numbered as `workload.h` numbers them, and
    /// shares them with others.
    static func origins(folder: String, name: String, port: UInt16, addresses: Int) -> NginxConfiguration {
        let listening = (0..<addresses).map {
            "listen \(address($0)):\(port) backlog=4096 reuseport;"
        }
        return NginxConfiguration(
            folder: folder, name: name,
            servers: "server { \(listening.joined(separator: "\n")) \(locations) }")
    }

    /// Returns the configuration of an nginx on some loopback addresses: the last one answers after the delay of the test server, of the two
    /// before it one answers 503 and one closes the connection, and the others answer at once.
    static func fleet(
        folder: String, name: String, port: UInt16, addresses: Int, testServerPort: UInt16
    ) -> NginxConfiguration {
        let servers = (0..<addresses).map { number in
            let work =
                switch addresses - number {
                case 1: "location / { proxy_pass http://127.0.0.1:\(testServerPort)/delayed; }"
                case 2: "return 444;"
                case 3: "return 503;"
                default: locations
                }
            return "server { listen \(address(number)):\(port) backlog=4096; \(work) }"
        }
        return NginxConfiguration(folder: folder, name: name, servers: servers.joined(separator: "\n"))
    }

    /// Returns a loopback address by its number, as `workload.h` numbers them.
    static func address(_ number: Int) -> String { "127.0.\(number / 250).\(number % 250 + 1)" }

    /// The file to which nginx writes the identifier of its process.
    var processFile: String { "\(folder)/\(name).pid" }

    var text: String {
        """
        daemon off;
        master_process off;
        pid \(processFile);
        error_log stderr warn;
        worker_rlimit_nofile 20000;
        events {
            worker_connections 20000;
            multi_accept on;
        }
        http {
            access_log off;
            sendfile on;
            keepalive_requests 1000000000;
            keepalive_timeout 600s;
            client_body_temp_path \(folder)/nginx-body;
            proxy_temp_path \(folder)/nginx-proxy;
            fastcgi_temp_path \(folder)/nginx-fastcgi;
            uwsgi_temp_path \(folder)/nginx-uwsgi;
            scgi_temp_path \(folder)/nginx-scgi;
            root \(folder)/www;
            default_type application/octet-stream;
            \(servers)
        }

        """
    }

    private static var locations: String {
        """
        location = /small { default_type text/plain; return 200 'hello world'; }
        location = /empty { default_type text/plain; return 200 ''; }
        location = /fresh { default_type text/plain; \(fresh) return 200 'hello world'; }
        location = /fresh-file { \(fresh) }
        location = /fresh-large { \(fresh) rewrite ^ /large break; }
        location = /cookie { default_type text/plain; \(cookie) return 200 'hello world'; }
        location = /json { default_type application/json; return 200 '\(receipt)'; }
        location = /headers { default_type text/plain; \(headers) return 200 'hello world'; }
        """
    }

    /// The header field of responses that a cache stores.
    private static var fresh: String { "add_header Cache-Control max-age=86400;" }

    /// The header field of `/cookie`, whose value is another one in every response.
    private static var cookie: String { "add_header Set-Cookie 'session=$request_id; Path=/; HttpOnly; SameSite=Lax';" }

    /// The body of the response to every posted order.
    private static var receipt: String {
        #"{"id":123456,"accepted":true,"total":104.25,"currency":"EUR","warehouse":"Rotterdam","#
            + #""messages":["confirmed","packed by 17:00","leaves tomorrow"]}"#
    }

    /// The 25 header fields of `/headers`; nginx adds Server, Date, Content-Type, Content-Length and Connection.
    private static var headers: String {
        let names = [
            "Cache-Control": "private, max-age=0, must-revalidate", "ETag": #""5f3c-61a0d2b4c8e40""#,
            "Vary": "Accept-Encoding, Accept-Language", "Strict-Transport-Security": "max-age=31536000",
            "X-Content-Type-Options": "nosniff", "X-Frame-Options": "SAMEORIGIN",
            "Referrer-Policy": "strict-origin-when-cross-origin",
            "X-Request-Id": "0f8fad5b-d9cb-469f-a165-70867728950e",
        ]
        let numbered = (1...17).map { ("X-Benchmark-Field-\($0)", "value number \($0) of seventeen") }
        return (names.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } + numbered)
            .map { "add_header \($0.0) '\($0.1)';" }.joined(separator: " ")
    }
}
