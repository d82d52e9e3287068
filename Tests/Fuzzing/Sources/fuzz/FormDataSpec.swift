import FoundationEssentials
import HTTPTypes

@testable import TrellisCore

/// A form that the bytes of an input describe, and the content that the form should have.
struct FormDataSpec {
    struct Part {
        enum Content {
            case data(Data)
            /// Chunks, and the announced number of bytes.
            case stream([Data], promised: Int64?)
            case mixed(FormDataSpec)
        }

        var name: String?
        var fileName: String?
        var fields: HTTPFields
        var type: String?
        var content: Content
    }

    /// The boundaries of each kind: plain ones, ones that need quotes, ones that often occur in contents, and invalid ones.
    private static let boundaries = [
        "boundary", "b", "--", "a(b)c,/=?:", "-", "'_+.-", String(repeating: "x", count: 70), "b1", "", "a b", "a\"b",
        "ä",
        "a\r\nb", String(repeating: "x", count: 71),
    ]

    let boundary: String
    let isForm: Bool
    private(set) var parts: [Part] = []

    init(_ choices: inout Choices, isForm: Bool, depth: Int = 0) {
        self.isForm = isForm
        // Boundaries are mostly valid, and that of a nested form mostly differs from that of the outer form.
        let choice = choices.number(below: 100)
        boundary =
            choice < 92 ? Self.boundaries[choice % 8] + (depth == 0 ? "" : "/\(depth)") : Self.boundaries[choice - 86]
        for _ in 0..<choices.number(below: 5) { parts.append(Self.part(&choices, isForm, depth)) }
    }

    private static func part(_ choices: inout Choices, _ isForm: Bool, _ depth: Int) -> Part {
        // A form's part without a name is an error.
        let name = isForm ? (choices.byte() == 255 ? nil : choices.text()) : choices.optionalText()
        let fileName =
            choices.bool() ? choices.optionalText().map { $0 + choices.element(of: ["", ".txt", ".PNG", "."]) } : nil
        var fields = HTTPFields()
        for _ in 0..<choices.number(below: 4) {
            let names = ["Content-Type", "X-A", "content-disposition", choices.text()]
            guard let name = HTTPField.Name(choices.element(of: names)) else { continue }
            fields.append(HTTPField(name: name, value: choices.text()))
        }
        let type = choices.bool() ? choices.optionalText() : nil
        return Part(name: name, fileName: fileName, fields: fields, type: type, content: content(&choices, depth))
    }

    private static func content(_ choices: inout Choices, _ depth: Int) -> Part.Content {
        switch choices.number(below: depth < 4 ? 8 : 6) {
        case 4:
            let chunks = (0..<choices.number(below: 4)).map { _ in Data(choices.bytes()) }
            let count = Int64(chunks.reduce(0) { $0 + $1.count })
            return .stream(chunks, promised: choices.element(of: [nil, count, count, count + 1, count - 1]))
        case 5 where choices.byte() == 255:
            // The size is close to the one from which the writer does not copy.
            return .data(Data(repeating: choices.byte(), count: 65_530 + choices.number(below: 12)))
        case 6, 7: return .mixed(FormDataSpec(&choices, isForm: false, depth: depth + 1))
        default: return .data(Data(choices.bytes()))
        }
    }

    // MARK: The framework's form

    var form: MultipartFormData {
        var form = MultipartFormData(boundary: boundary)
        for part in parts { form.append(part.made) }
        return form
    }

    fileprivate var mixed: RequestBody { .multipartMixed(parts.map(\.made), boundary: boundary) }
}

extension FormDataSpec.Part {
    var made: MultipartFormData.Part {
        MultipartFormData.Part(body, name: name, fileName: fileName, headers: fields)
    }

    private var body: RequestBody {
        switch content {
        case .data(let data): return .data(data, contentType: type)
        case .mixed(let inner):
            var body = inner.mixed
            if let type { body.contentType = type }
            return body
        case .stream(let chunks, let promised):
            return .stream(length: promised, contentType: type) {
                AsyncStream { continuation in
                    for chunk in chunks { continuation.yield(chunk) }
                    continuation.finish()
                }
            }
        }
    }
}
