import FoundationEssentials
import HTTPTypes
import TrellisCaching
import TrellisCore

extension TransportConformance {
    /// The cases about steps of the session that take several exchanges: redirects, cookies and the cache.
    static var sessionCases: [Case] {
        [
            Case(name: "follows a redirect with the same method") { request in
                guard let status = Int(request.target.dropFirst()) else {
                    return [.head(200, [:]), .text("\(request.method) with \(request.body.count) bytes"), .end]
                }
                return [.head(status, [.location: "/request"]), .end]
            } check: { host in
                for status in [301, 308] {
                    let (data, response) = try await host.session.data(host.url("/\(status)"))
                    try expect("status", response.status.code, equals: 200)
                    try expect("request", String(decoding: data, as: UTF8.self), equals: "GET with 0 bytes")
                    try expect("redirects", response.redirects.map(\.status.code), equals: [status])
                }
            },
            Case(name: "ends redirects that have no end") { request in
                [.head(301, [.location: request.target == "/ping" ? "/pong" : "/ping"]), .end]
            } check: { host in
                try await expect(.tooManyRedirects) { _ = try await host.session.data(host.url("/ping")) }
            },
            Case(name: "sends back the cookie that a response has set") { request in
                request.target == "/set"
                    ? [.head(200, [.setCookie: "id=4711"]), .end]
                    : [.head(200, [:]), .text(request["Cookie"] ?? "none"), .end]
            } check: { host in
                let (_, response) = try await host.session.data(host.url("/set"))
                try expect("set cookies", response.headers[values: .setCookie], equals: ["id=4711"])
                let (data, _) = try await host.session.data(host.url("/get"))
                try expect("cookies", String(decoding: data, as: UTF8.self), equals: "id=4711")
            }.configured { $0.steps.cookies = CookieJar() },
            validation(LoopbackServer.Waiters(0)),
        ]
    }

    private static let validated = HTTPField.Name("X-Validated") ?? .server

    /// Returns the case about a resource that has a new version each time that its last one was found to be valid.
    private static func validation(_ version: LoopbackServer.Waiters<Int>) -> Case {
        Case(name: "validates a stored response by its entity tag, and takes over the fields of the 304") { request in
            let (tag, isValid) = version.update { version in
                guard let known = request["If-None-Match"] else {
                    version = 0
                    return ("\"0\"", false)
                }
                let tag = "\"\(version)\""
                if known == tag { version += 1 }
                return (tag, known == tag)
            }
            return isValid
                ? [.head(304, [.eTag: tag, validated: "true"]), .end]
                : [.head(200, [.eTag: tag, validated: "false"]), .text(tag), .end]
        } check: { host in
            for number in 0..<3 {
                for isValidated in [false, true] {
                    let (data, response) = try await host.session.data(host.url("/"))
                    try expect("status", response.status.code, equals: 200)
                    try expect("body", String(decoding: data, as: UTF8.self), equals: "\"\(number)\"")
                    try expect("tag", response.headers[.eTag], equals: "\"\(number)\"")
                    try expect("validated", response.headers[validated], equals: "\(isValidated)")
                }
            }
        }.configured { $0.steps.cache = HTTPCache() }
    }
}
