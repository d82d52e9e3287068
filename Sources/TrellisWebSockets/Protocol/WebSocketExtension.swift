import CurlEngine
import TrellisCore

/// An extension in `Sec-WebSocket-Extensions` (RFC 6455, section 9.1).
struct WebSocketExtension: Hashable, Sendable {
    /// A parameter of an extension.
    struct Parameter: Hashable, Sendable {
        var name: String
        /// The value without its quotes; `nil` if there is none.
        var value: String?
    }

    /// The reason why the server's choice of extensions is not accepted, in words that follow "the server's Sec-WebSocket-Extensions".
    struct Refusal: Error, Hashable {
        let message: String

        init(_ message: String) { self.message = message }
    }

    var name: String
    var parameters: [Parameter] = []

    /// Returns the extensions of a field's value, which may be empty.
    static func list(_ value: String) throws(Refusal) -> [WebSocketExtension] {
        var scanner = Scanner(value)
        var extensions: [WebSocketExtension] = []
        while true {
            scanner.skipBlanks()
            // Empty elements of a list are allowed (RFC 9110, section 5.6.1.2).
            if scanner.skip(",") { continue }
            if scanner.isAtEnd { return extensions }
            extensions.append(try scanner.element())
            scanner.skipBlanks()
            guard scanner.isAtEnd || scanner.skip(",") else { throw Refusal("is malformed") }
        }
    }

    /// A reader of a field's bytes.
    private struct Scanner {
        private var rest: ArraySlice<UInt8>

        init(_ text: String) { rest = Array(text.utf8)[...] }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func skipBlanks() { rest = rest.drop { $0 == 0x20 || $0 == 0x09 } }

        mutating func skip(_ mark: Unicode.Scalar) -> Bool {
            guard rest.first == UInt8(ascii: mark) else { return false }
            rest = rest.dropFirst()
            return true
        }

        mutating func element() throws(Refusal) -> WebSocketExtension {
            var element = WebSocketExtension(name: try token())
            skipBlanks()
            while skip(";") {
                skipBlanks()
                var parameter = Parameter(name: try token())
                skipBlanks()
                if skip("=") {
                    skipBlanks()
                    parameter.value = skip("\"") ? try quoted() : try token()
                    skipBlanks()
                }
                element.parameters.append(parameter)
            }
            return element
        }

        private mutating func token() throws(Refusal) -> String {
            let token = rest.prefix(while: FieldScanner.isTokenByte)
            guard !token.isEmpty else { throw Refusal("is malformed") }
            rest = rest.dropFirst(token.count)
            return String(decoding: token, as: UTF8.self)
        }

        /// Returns a text in quotes, which must be a token without them (RFC 6455, section 9.1).
        private mutating func quoted() throws(Refusal) -> String {
            var text: [UInt8] = []
            while let byte = rest.popFirst(), byte != UInt8(ascii: "\"") {
                let byte = byte == UInt8(ascii: "\\") ? rest.popFirst() ?? 0 : byte
                guard FieldScanner.isTokenByte(byte) else { throw Refusal("is malformed") }
                text.append(byte)
                if rest.isEmpty { throw Refusal("is malformed") }
            }
            guard !text.isEmpty else { throw Refusal("is malformed") }
            return String(decoding: text, as: UTF8.self)
        }
    }
}
