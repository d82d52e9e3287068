import CurlEngine
import TrellisCore
public import TrellisDiagnostics

/// A change of recorded requests and responses, usually the removal of what must not be in a file.
///
/// ```swift
/// cassette.scrubbers += [.header("X-Tenant"), .queryItem("signature"), .json("user.email"), .text(accountID, replacement: "ACCOUNT")]
/// ```
///
/// A ``Cassette`` applies its scrubbers to what it writes, and to each request before it is compared with the recordings. A scrubber must
/// return the same for the same request, and must not change what it has changed before. Heads of 1xx and trailers are scrubbed as the
/// fields of responses without a body, and the words of failures as bodies of plain text.
public struct Scrubber: Sendable {
    private let request: @Sendable (inout HARDocument.Request) -> Void
    private let response: @Sendable (inout HARDocument.Response) -> Void

    /// Creates a scrubber from closures. The cookies, the items of the query and other properties that follow from the URL and the fields
    /// are set again after the closures have returned.
    ///
    /// - Parameters:
    ///   - request: The change of a request. The default changes nothing.
    ///   - response: The change of a response. The default changes nothing.
    public init(
        request: @escaping @Sendable (_ request: inout HARDocument.Request) -> Void = { _ in },
        response: @escaping @Sendable (_ response: inout HARDocument.Response) -> Void = { _ in }
    ) {
        self.request = request
        self.response = response
    }

    func scrub(_ request: inout HARDocument.Request) { self.request(&request) }

    func scrub(_ response: inout HARDocument.Response) { self.response(&response) }

    /// The scrubber of what is known to be a secret, with the rules of ``/Trellis/HARRecorder``: user information and secret items of URLs,
    /// secret fields, the values of cookies, secret items and parts of forms, and texts under secret names in JSON. `access` and `refresh`
    /// are secret names here, because they often name the tokens of OAuth.
    public static let secrets = Scrubber(
        request: { request in
            HARRedaction.redact(&request)
            request.changeText(withoutTokens)
        },
        response: { response in
            HARRedaction.redact(&response)
            response.changeText(withoutTokens)
        })

    /// Returns JSON without the texts under the short names of tokens. The rest of JSON that is cut, or followed by other text, is left out
    /// if there was a token before it. Other text stays as it is.
    private static func withoutTokens(_ text: String) -> String {
        guard text.containsBytes("\"access\"") || text.containsBytes("\"refresh\"") else { return text }
        let (changed, isComplete) = JSONRewriter.rewritten(
            text, replacingStringsWith: "\"\(BodyRedaction.mark)\"",
            where: { $0.hasSameBytes(as: "access") || $0.hasSameBytes(as: "refresh") })
        return isComplete || !text.utf8.starts(with: changed.utf8) ? changed : text
    }

    /// Returns a scrubber of fields by their names, in requests and responses.
    ///
    /// - Parameters:
    ///   - names: The names, in any case.
    ///   - replacement: The value that replaces the fields' values; `nil` removes the fields.
    public static func header(_ names: String..., replacement: String? = "REDACTED") -> Scrubber {
        let names = Set(names.map { TextBytes($0.lowercasedASCII()) })
        let scrub = { @Sendable (fields: inout [HARDocument.Field]) -> Void in
            guard let replacement else {
                return fields.removeAll { names.contains(TextBytes($0.name.lowercasedASCII())) }
            }
            for index in fields.indices where names.contains(TextBytes(fields[index].name.lowercasedASCII())) {
                fields[index].value = replacement
            }
        }
        return Scrubber(request: { scrub(&$0.headers) }, response: { scrub(&$0.headers) })
    }

    /// Returns a scrubber of items in the query of a request's URL by their names.
    ///
    /// - Parameters:
    ///   - names: The names, without percent-encoding.
    ///   - replacement: The value that replaces the items' values, as it stands in a URL; `nil` removes the items.
    public static func queryItem(_ names: String..., replacement: String? = "REDACTED") -> Scrubber {
        let names = Set(names.map { TextBytes($0) })
        return Scrubber(request: { request in
            guard let mark = request.url.firstIndex(ofByte: "?") else { return }
            let start = request.url.utf8.index(after: mark)
            let query = request.url[start...].prefix(beforeBytes: "#")
            // The items of the request are decoded, and in the order of the query.
            request.derive()
            let items = query.split(atByte: "&")
            guard items.count == request.queryString.count else { return }
            let kept = zip(items, request.queryString).compactMap { item, named -> String? in
                guard names.contains(TextBytes(named.name)) else { return String(item) }
                return replacement.map { "\(item.prefix(beforeBytes: "="))=\($0)" }
            }
            let joined = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
            request.url = "\(request.url[..<mark])\(joined)\(request.url[query.endIndex...])"
        })
    }

    /// Returns a scrubber of values in bodies of JSON, in requests and responses.
    ///
    /// - Parameters:
    ///   - paths: The places of the values: names of members and indices of elements, with dots between them, such as `user.email` or
    ///     `items.*.id`. A `*` stands for any name or index. All texts and numbers within an object or an array are replaced.
    ///     The values in front of the place where a body ends early, or is no JSON, are replaced too.
    ///   - replacement: The text that replaces texts. A number becomes 0, so that the body can be decoded as before; `true`, `false` and
    ///     `null` stay.
    public static func json(_ paths: String..., replacement: String = "REDACTED") -> Scrubber {
        let patterns = paths.map { $0.split(atByte: ".").map { String($0) } }
        let quoted = ScrubbedText.quoted(replacement)
        let scrub = { @Sendable (text: String) -> String in
            JSONRewriter.rewrittenAsFarAsPossible(text) { path, kind in
                guard patterns.contains(where: { ScrubbedText.matches($0, path) }) else { return nil }
                return switch kind {
                case .string: quoted
                case .number: "0"
                case .object, .array, .literal: nil
                }
            }
        }
        return Scrubber(
            request: { $0.changeText(scrub) }, response: { $0.changeText(scrub) })
    }

    /// Returns a scrubber of a text wherever it occurs: in URLs, in the values of fields, in bodies that are text and in the words of
    /// failures.
    ///
    /// - Parameters:
    ///   - text: The text, as it stands in URLs, fields and bodies.
    ///   - replacement: The text in its place.
    public static func text(_ text: String, replacement: String = "REDACTED") -> Scrubber {
        let scrub = { @Sendable (value: String) in ScrubbedText.replacing(text, with: replacement, in: value) }
        return Scrubber(
            request: { request in
                request.url = scrub(request.url)
                for index in request.headers.indices {
                    request.headers[index].value = scrub(request.headers[index].value)
                }
                request.changeText(scrub)
            },
            response: { response in
                for index in response.headers.indices {
                    response.headers[index].value = scrub(response.headers[index].value)
                }
                response.changeText(scrub)
            })
    }
}

extension HARDocument.Request {
    /// Changes the body, if it is text.
    fileprivate mutating func changeText(_ change: (String) -> String) {
        guard let text = postData?.text, postData?.encoding == nil else { return }
        postData?.text = change(text)
    }
}

extension HARDocument.Response {
    /// Changes the body, if it is text.
    fileprivate mutating func changeText(_ change: (String) -> String) {
        guard let text = content.text, content.encoding == nil else { return }
        content.text = change(text)
    }
}
