import CurlEngine
import TrellisCore

/// What a signature covers, and its parameters: a member of `Signature-Input` (RFC 9421, section 4.1).
struct SignatureInput: Hashable {
    let components: [SignatureComponent]
    let parameters: [StructuredParameter]

    init(_ components: [SignatureComponent], _ parameters: [StructuredParameter]) {
        (self.components, self.parameters) = (components, parameters)
    }

    /// Reads a member; `nil` if it is no list of components.
    init?(_ member: StructuredMember) {
        guard case .list(let items, let parameters) = member else { return nil }
        let components = items.compactMap { SignatureComponent($0) }
        guard components.count == items.count else { return nil }
        self.init(components, parameters)
    }

    var member: StructuredMember { .list(components.map(\.item), parameters) }

    /// Returns the text that is signed (RFC 9421, section 2.5).
    func base(of message: SignedMessage) throws(SignedMessage.Failure) -> String {
        var (covered, text): (Set<SignatureComponent>, String) = ([], "")
        for component in components {
            guard covered.insert(component.sorted).inserted else {
                throw SignedMessage.Failure(reason: "\(component.item.text) is covered twice")
            }
            text += "\(component.item.text): \(try message.value(of: component))\n"
        }
        return text + "\"@signature-params\": \(member.text)"
    }

    /// Returns whether a component is covered.
    func covers(_ component: SignatureComponent) -> Bool { components.contains { $0.sorted == component.sorted } }
}

/// The parameters of a signature (RFC 9421, section 2.3), as its signer has set them.
public struct SignatureParameters: Sendable, Hashable {
    /// The name of the signature in its message.
    public let label: String
    /// The name of the key (`keyid`), if there is one.
    public let keyID: String?
    /// The name of the algorithm (`alg`), if there is one. It is compared with the algorithm of the key.
    public let algorithm: String?
    /// The seconds from 1970 to the making of the signature (`created`), if known.
    public let created: Int64?
    /// The seconds from 1970 to the end of the signature (`expires`), if it has one.
    public let expires: Int64?
    /// The value that no other signature has (`nonce`), if there is one.
    public let nonce: String?
    /// The name of the application that the signature is for (`tag`), if there is one.
    public let tag: String?

    /// Reads the parameters; `nil` if one of them is of another type than it has to be.
    init?(label: String, _ parameters: [StructuredParameter]) {
        var texts: [String: String] = [:]
        var times: [String: Int64] = [:]
        for parameter in parameters {
            switch (parameter.key, parameter.value) {
            case ("created", .integer(let seconds)), ("expires", .integer(let seconds)): times[parameter.key] = seconds
            case ("nonce", .string(let text)), ("alg", .string(let text)), ("keyid", .string(let text)),
                ("tag", .string(let text)):
                texts[parameter.key] = text
            case ("created", _), ("expires", _), ("nonce", _), ("alg", _), ("keyid", _), ("tag", _): return nil
            // Others have no meaning here, and are signed all the same.
            default: break
            }
        }
        self.label = label
        (keyID, algorithm, nonce, tag) = (texts["keyid"], texts["alg"], texts["nonce"], texts["tag"])
        (created, expires) = (times["created"], times["expires"])
    }
}
