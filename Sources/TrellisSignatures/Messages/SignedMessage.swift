import CurlEngine
import FoundationEssentials
import HTTPTypes
import TrellisCore

/// The message of a signature, with the values of its components (RFC 9421, section 2).
struct SignedMessage {
    /// The request, or the one that the response answers.
    let request: WireRequest
    /// The response; `nil` in the signature of a request.
    let response: Response?
    /// The types of structured fields, by their names in lower case, beside the registered ones.
    let types: [String: StructuredFieldType]

    init(_ request: WireRequest, response: Response? = nil, types: [String: StructuredFieldType] = [:]) {
        (self.request, self.response, self.types) = (request, response, types)
    }

    /// The reason why a component has no value.
    struct Failure: Error, Hashable {
        let reason: String
        /// Whether the message lacks the component. Otherwise it has one that cannot be signed.
        var isMissing = false
    }

    /// Returns whether the message has a component. One that cannot be signed is an error: it must not stay out unnoticed.
    func has(_ component: SignatureComponent) throws(Failure) -> Bool {
        do throws(Failure) {
            _ = try value(of: component)
        } catch {
            guard error.isMissing else { throw error }
            return false
        }
        return true
    }

    /// Returns the value of a component, which is ASCII without line breaks.
    func value(of component: SignatureComponent) throws(Failure) -> String {
        let value = try component.isDerived ? derived(component) : field(component)
        guard value.utf8.allSatisfy({ 0x20...0x7E ~= $0 || $0 == 0x09 }) else {
            throw Failure(reason: "\(component.item.text) has bytes other than ASCII; sign its bytes")
        }
        return value
    }

    /// Throws the reason why a component has a parameter that it must not have. An unknown one may change the meaning.
    private func check(_ component: SignatureComponent, allowed: Set<String>) throws(Failure) {
        for parameter in component.parameters {
            let isText = parameter.key == "name" || parameter.key == "key"
            guard allowed.contains(parameter.key), isText || parameter.value == .boolean(true) else {
                throw Failure(reason: "\(component.item.text) has a parameter that it cannot have")
            }
        }
        guard response != nil || !component.has("req") else {
            throw Failure(reason: "\(component.item.text) belongs into the signature of a response")
        }
    }

    // MARK: Derived components

    private func derived(_ component: SignatureComponent) throws(Failure) -> String {
        try check(component, allowed: component.name == "@query-param" ? ["name", "req"] : ["req"])
        if component.name == "@status", let response, !component.has("req") { return "\(response.status.code)" }
        guard response == nil || component.has("req") else {
            throw Failure(reason: "\(component.item.text) is a part of a request, and this is a response")
        }
        switch component.name {
        case "@method": return request.method.rawValue
        case "@target-uri": return "\(request.scheme)://\(authority)\(request.target == "*" ? "" : request.target)"
        case "@authority": return authority
        case "@scheme": return request.scheme.lowercasedASCII()
        case "@request-target": return request.target
        case "@path": return request.target == "*" ? "/" : request.path
        case "@query": return "?" + (request.query ?? "")
        case "@query-param": return try queryParameter(component)
        default: throw Failure(reason: "\(component.item.text) is not known, or is no part of a request")
        }
    }

    /// The host and the port in their normal form (RFC 9110, section 4.2.3).
    private var authority: String {
        let text = request.authority.lowercasedASCII()
        let port = request.scheme.lowercasedASCII() == "https" ? ":443" : ":80"
        for end in [port, ":"] where text.hasByteSuffix(end) {
            return String(text.utf8.dropLast(end.utf8.count)) ?? text
        }
        return text
    }

    private func queryParameter(_ component: SignatureComponent) throws(Failure) -> String {
        guard case .string(let name)? = component.parameters["name"] else {
            throw Failure(reason: "\(component.item.text) has no name")
        }
        let values = FormText.pairs(request.query ?? "").filter { FormText.encoded($0.name).hasSameBytes(as: name) }
        guard let value = values.first?.value, values.count == 1 else {
            throw Failure(
                reason: "the query has \(values.isEmpty ? "no" : "more than one") parameter \(name)",
                isMissing: values.isEmpty)
        }
        return FormText.encoded(value)
    }

    // MARK: Fields

    private func field(_ component: SignatureComponent) throws(Failure) -> String {
        try check(component, allowed: ["sf", "key", "bs", "req", "tr"])
        let isBytes = component.has("bs")
        guard !isBytes || !component.has("sf") && component.parameters["key"] == nil else {
            throw Failure(reason: "\(component.item.text) is both bytes and structured")
        }
        let fields = try self.fields(component)
        if isBytes {
            return fields.map { StructuredValue.bytes(Data(Self.trimmed($0.sentOctets))).text }.joined(separator: ", ")
        }
        let lines = try fields.map { field throws(Failure) in
            guard field.octetsBeyondUTF8 == nil else {
                throw Failure(reason: "\(component.item.text) has bytes other than ASCII; sign its bytes")
            }
            return String(decoding: Self.trimmed(Array(field.value.utf8)), as: UTF8.self)
        }
        if case .string(let key)? = component.parameters["key"] {
            guard let dictionary = StructuredDictionary(parsing: lines) else {
                throw Failure(reason: "the field \(component.name) is no dictionary")
            }
            guard let member = dictionary[key] else {
                throw Failure(reason: "the field \(component.name) has no member \(key)", isMissing: true)
            }
            return member.text
        }
        guard component.parameters["key"] == nil else { throw Failure(reason: "\(component.item.text) has no key") }
        return try component.has("sf") ? strict(lines, of: component) : lines.joined(separator: ", ")
    }

    private func fields(_ component: SignatureComponent) throws(Failure) -> [HTTPField] {
        let isOfRequest = response == nil || component.has("req")
        let all: HTTPFields
        if component.has("tr") {
            // The trailers of a request are made after its head was sent.
            guard let response, !isOfRequest else { throw Failure(reason: "trailers of a request cannot be signed") }
            all = response.trailers
        } else {
            all = isOfRequest ? request.headers : response?.headers ?? HTTPFields()
        }
        let fields = Array(all.filter { $0.name.canonicalName.hasSameBytes(as: component.name) })
        guard !fields.isEmpty else {
            let hint = component.name == "host" ? "; sign @authority" : ""
            throw Failure(reason: "there is no field \(component.name) that can be signed\(hint)", isMissing: true)
        }
        return fields
    }

    /// Returns a structured field in its strict form (RFC 9421, section 2.1.1).
    private func strict(_ lines: [String], of component: SignatureComponent) throws(Failure) -> String {
        let text: String?
        switch types[component.name] ?? StructuredFieldType.registered[component.name] {
        case .list: text = StructuredList(parsing: lines)?.text
        case .dictionary: text = StructuredDictionary(parsing: lines)?.text
        case .item: text = StructuredItem(parsing: lines)?.text
        case nil: throw Failure(reason: "the type of the structured field \(component.name) is not known")
        }
        guard let text else { throw Failure(reason: "the field \(component.name) does not have its structure") }
        return text
    }

    private static func trimmed(_ bytes: [UInt8]) -> ArraySlice<UInt8> {
        let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
        let start = bytes.drop(while: isBlank)
        return start[..<(start.lastIndex { !isBlank($0) }.map { $0 + 1 } ?? start.startIndex)]
    }
}
