/// The type of a structured field (RFC 9651, section 3), which a reader must know to write it in its strict form.
public enum StructuredFieldType: Sendable, Hashable {
    /// A list.
    case list
    /// A dictionary.
    case dictionary
    /// A single value.
    case item

    /// The fields whose type is known, by their names in lower case: those that the registry of fields lists as structured.
    static let registered: [String: StructuredFieldType] = [
        "accept-ch": .list, "accept-query": .list, "accept-signature": .dictionary, "available-dictionary": .item,
        "cache-group-invalidation": .list, "cache-groups": .list, "cache-status": .list, "capsule-protocol": .item,
        "cdn-cache-control": .dictionary, "client-cert": .item, "client-cert-chain": .list,
        "content-digest": .dictionary,
        "cross-origin-embedder-policy": .item, "cross-origin-opener-policy": .item, "deprecation": .item,
        "dictionary-id": .item, "origin-agent-cluster": .item, "priority": .dictionary, "proxy-status": .list,
        "ratelimit": .list, "ratelimit-policy": .list, "repr-digest": .dictionary, "signature": .dictionary,
        "signature-input": .dictionary, "upload-complete": .item, "upload-offset": .item,
        "use-as-dictionary": .dictionary, "want-content-digest": .dictionary, "want-repr-digest": .dictionary,
    ]
}
