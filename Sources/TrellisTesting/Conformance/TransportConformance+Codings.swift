import FoundationEssentials
import HTTPTypes
import TrellisCore

extension TransportConformance {
    /// The cases about content codings (RFC 9110, section 8.4.1).
    static var codingCases: [Case] {
        [
            decoding("gzip", gzip),
            decoding("deflate", deflate),
            decoding("br", brotli),
            Case(name: "hands on a body that is not coded although codings are accepted") { _ in
                [.head(200, [:]), .text(text), .end]
            } check: { host in
                let (data, response) = try await host.session.data(host.url("/"))
                try expect("status", response.status.code, equals: 200)
                try expect("coding", response.headers[.contentEncoding], equals: nil)
                try expect("body", String(decoding: data, as: UTF8.self), equals: text)
            },
        ]
    }

    /// Returns the case about a coding, which the server uses if the request accepts the coding.
    private static func decoding(_ coding: String, _ bytes: [UInt8]) -> Case {
        Case(name: "decodes a body in \(coding) if it accepts the coding", needs: .wire) { request in
            request["Accept-Encoding"]?.contains(coding) == true
                ? [.head(200, [.contentEncoding: coding]), .body(Data(bytes)), .end]
                : [.head(200, [:]), .text(text), .end]
        } check: { host in
            let (data, response) = try await host.session.data(host.url("/"))
            try expect("status", response.status.code, equals: 200)
            try expect("body", String(decoding: data, as: UTF8.self), equals: text)
        }
    }

    private static let text = "conformance\n"
    private static let gzip: [UInt8] = [
        31, 139, 8, 0, 0, 0, 0, 0, 2, 3, 75, 206, 207, 75, 203, 47, 202, 77, 204, 75, 78, 229, 2, 0, 93, 100, 81, 12,
        12, 0, 0, 0,
    ]
    private static let deflate: [UInt8] = [
        120, 156, 75, 206, 207, 75, 203, 47, 202, 77, 204, 75, 78, 229, 2, 0, 32, 21, 4, 150,
    ]
    /// The text in a block that is stored as it is (RFC 7932, section 9.2), followed by an empty last block.
    private static let brotli: [UInt8] = [0xB0, 0x00, 0x10] + Array(text.utf8) + [0x03]
}
