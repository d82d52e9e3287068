import CurlEngine

/// The names that only the machine or its network knows: the system looks them up, although there is a resolver, which is not asked.
///
/// ```swift
/// var names = LocalNames.standard
/// names.hosts.append(try HostPattern("**.corp.example"))
/// configuration.resolver = try DNSOverHTTPS("https://dns.example/dns-query", localNames: names)
/// ```
///
/// A name with a dot at its end is the same host. `localhost` and names that end in `.localhost` are this machine, whatever the rule.
public struct LocalNames: Sendable, Hashable {
    /// No name.
    public static let none = LocalNames()
    /// Names of one label, names that end in `.local` (RFC 6762, section 3), in `.internal`, which ICANN has set aside for private
    /// networks, or in `.home.arpa` (RFC 8375), and the names of `/etc/hosts`.
    public static let standard = LocalNames(
        hosts: ["**.local", "**.internal", "**.home.arpa"].compactMap { try? HostPattern($0) },
        includesSingleLabels: true, includesHostsFile: true)

    /// Hosts and domains whose names are among them: `**.corp.example` is the domain and all names below it.
    public var hosts: [HostPattern]
    /// Whether names of one label are among them, such as `db`, which the search domains of `resolv.conf` may complete.
    public var includesSingleLabels: Bool
    /// Whether the names of `/etc/hosts` are among them. The file is read for each lookup; one that is larger than 16 MiB has no names.
    public var includesHostsFile: Bool
    /// The path of the file of names.
    package var hostsFile = "/etc/hosts"

    /// Creates a rule, without any names unless they are given.
    public init(hosts: [HostPattern] = [], includesSingleLabels: Bool = false, includesHostsFile: Bool = false) {
        self.hosts = hosts
        self.includesSingleLabels = includesSingleLabels
        self.includesHostsFile = includesHostsFile
    }

    /// Returns whether a name is among them, without a look into `/etc/hosts`.
    ///
    /// - Parameter name: The host of a URL in ASCII form, with or without a dot at its end.
    public func contains(_ name: String) -> Bool {
        let isSingle = !name.withoutFinalDot.utf8.contains(UInt8(ascii: "."))
        return includesSingleLabels && isSingle || hosts.contains { $0.matches(name) }
    }
}

extension LocalNames {
    /// The largest size of a file of names, in bytes.
    private static let maximumFileSize = 16 << 20

    /// Returns the addresses that the system has for a name, if it is a local one; `nil` if a resolver is asked for it.
    ///
    /// - Throws: As ``SystemNameResolver``.
    package func addresses(of name: String, family: AddressFamily) async throws -> ResolvedAddresses? {
        var isLocal = contains(name)
        if !isLocal, includesHostsFile {
            isLocal = try await BlockingThreadPool.runUnlessCancelled(at: FileSystem.folder(of: hostsFile)) {
                let file = try? WholeFile.read(path: hostsFile, limit: Self.maximumFileSize)
                return file.map { Self.isName(name, in: [UInt8]($0.data)) } ?? false
            }
        }
        return isLocal ? try await SystemNameResolver().addresses(of: name, family: family) : nil
    }

    /// Returns whether one of the lines of a file has an address with a name: as its name or one of its aliases (hosts(5)).
    static func isName(_ name: String, in file: [UInt8]) -> Bool {
        let wanted = name.withoutFinalDot
        return file.split(separator: UInt8(ascii: "\n")).contains { line in
            let words = line.prefix { $0 != UInt8(ascii: "#") }.split { $0 == 0x20 || 9...13 ~= $0 }
            return words.dropFirst().contains { word in
                word.count - wanted.utf8.count == (word.last == UInt8(ascii: ".") ? 1 : 0)
                    && zip(word, wanted.utf8).allSatisfy {
                        $0 == $1 || $0 | 0x20 == $1 | 0x20 && 0x61...0x7A ~= $0 | 0x20
                    }
            }
        }
    }
}
