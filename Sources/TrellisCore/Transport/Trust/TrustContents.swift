import CurlEngine
import FoundationEssentials

/// The contents of the sources of a ``TLSConfiguration``.
struct TrustContents: Sendable {
    /// The paths of all files of a configuration, without repetition.
    static func paths(of configuration: TLSConfiguration) -> [String] {
        var paths: [String] = []
        for path in sources(of: configuration).compactMap(\.path) where !paths.contains(where: path.hasSameBytes) {
            paths.append(path)
        }
        return paths
    }

    private static func sources(of configuration: TLSConfiguration) -> [CertificateSource] {
        let identity = [configuration.clientIdentity?.certificate, configuration.clientIdentity?.key].compactMap { $0 }
        // Without verification, no authority matters.
        guard !configuration.isInsecure else { return identity }
        return configuration.authorities.sources + configuration.revocationLists + identity
    }

    /// The bytes of each source that was read.
    private var bytes: [CertificateSource: [UInt8]] = [:]

    /// Reads all sources of a configuration. Waits for a disk.
    ///
    /// - Parameter willRead: Called with the path of each file before it is read.
    init(reading configuration: TLSConfiguration, willRead: (String) -> Void) throws(TrellisError) {
        for source in Self.sources(of: configuration) where bytes[source] == nil {
            switch source {
            case .bytes(let data): bytes[source] = [UInt8](data)
            case .path(let path):
                willRead(path)
                do throws(FileError) {
                    bytes[source] = try FileContents.read(path: path)
                } catch {
                    throw Self.failure(reading: path, error.reason, configuration)
                }
            }
        }
    }

    private static func failure(reading path: String, _ reason: String, _ configuration: TLSConfiguration)
        -> TrellisError
    {
        let identity = configuration.clientIdentity
        let isOfIdentity = [identity?.certificate.path, identity?.key?.path].contains {
            $0?.hasSameBytes(as: path) == true
        }
        return TrellisError(
            .securityFailed(
                isOfIdentity
                    ? .clientIdentity(.file(path: path, reason: reason))
                    : .certificateAuthorityFile("\(path): \(reason)")))
    }

    /// Returns whether the bytes of both are the same.
    func isSame(as other: TrustContents) -> Bool { bytes == other.bytes }

    /// Returns the paths of the files whose bytes differ from earlier contents of the same configuration, in ascending order.
    func changedPaths(since earlier: TrustContents) -> [String] {
        bytes.filter { earlier.bytes[$0.key] != $0.value }.compactMap(\.key.path).sorted()
    }

    /// Returns the authorities as one PEM text, marked with a number. May wait for a disk.
    ///
    /// - Parameter system: The file of the system's authorities.
    func authorities(
        _ configuration: TLSConfiguration, number: Int, _ system: SystemAuthorities.Version
    ) throws(TrellisError) -> TransferTrust.Authorities {
        if configuration.isInsecure { return .unverified }
        let text = try join(configuration.authorities.sources, kind: "certificate", ClientCertificate.certificateCount)
        switch configuration.authorities {
        case .system, .systemAnd([]):
            // The connections of different lists must be distinguishable.
            let example = configuration.revocationLists.isEmpty ? [] : system.example()
            return example.isEmpty ? .system : .pem(TransferTrust.marked(example, number), withSystem: true)
        case .systemAnd: return .pem(TransferTrust.marked(text, number), withSystem: true)
        case .only([]): throw TrellisError(.securityFailed(.certificateAuthorityFile("there is no source of them")))
        case .only: return .pem(TransferTrust.marked(text, number), withSystem: false)
        }
    }

    /// Returns the revocation lists as one file, if any.
    func revocationLists(_ configuration: TLSConfiguration) throws(TrellisError) -> MemoryFile? {
        guard !configuration.isInsecure, !configuration.revocationLists.isEmpty else { return nil }
        let text = try join(
            configuration.revocationLists, kind: "revocation list", ClientCertificate.revocationListCount)
        guard let file = MemoryFile(text) else {
            throw TrellisError(.securityFailed(.certificateAuthorityFile("the system has no memory or file for them")))
        }
        return file
    }

    private func join(
        _ sources: [CertificateSource], kind: String, _ count: ([UInt8]) -> Int?
    ) throws(TrellisError) -> [UInt8] {
        var text: [UInt8] = []
        for source in sources {
            let bytes = bytes[source] ?? []
            let reason: String? =
                switch count(bytes) {
                case nil: "a \(kind) in it is malformed"
                case 0?: "there is no \(kind) in PEM in it"
                default: nil
                }
            if let reason {
                throw TrellisError(.securityFailed(.certificateAuthorityFile("\(source.name): \(reason)")))
            }
            text += bytes + [10]
        }
        return text
    }

    /// Returns the identity as PEM without encryption.
    func identity(_ identity: ClientIdentity, passphrase: String?) throws(ClientCertificate.Failure) -> [UInt8] {
        try ClientCertificate.pem(
            bytes[identity.certificate] ?? [], key: identity.key.map { bytes[$0] ?? [] }, passphrase: passphrase)
    }
}
