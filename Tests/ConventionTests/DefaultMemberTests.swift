import Testing

/// The members that an extension of a protocol gives to its conforming types are as visible as the protocol.
struct DefaultMemberTests {
    /// A type of another target does not get a member that its target cannot see. It gets the one of the protocol that is refined, if there
    /// is one, and the compiler says nothing.
    @Test func typesOfEveryTargetGetTheSameMembers() {
        #expect(Self.hiddenMembers(in: SourceTree.sources.map(\.code)) == [])
    }

    /// Returns the members of extensions that meet a requirement of a protocol which other targets see, and are not seen there.
    static func hiddenMembers(in files: [String]) -> [String] {
        var refined: [String: [String]] = [:]
        var requirements: [String: Set<String>] = [:]
        var given: [(extended: String, member: String)] = []
        for file in files {
            var (declared, extended): (String?, String?) = (nil, nil)
            for line in file.split(separator: "\n") {
                if line.first != " " {
                    (declared, extended) = (nil, nil)
                    if line.hasPrefix("extension ") {
                        extended = line.prefixMatch(of: #/extension (?<name>\w+)/#).map { String($0.name) }
                    } else if line.contains("protocol "),
                        let match = line.firstMatch(of: #/(?:public|package) protocol (?<name>\w+)(?<refined>[^{]*)/#)
                    {
                        declared = String(match.name)
                        refined[String(match.name)] = match.refined.matches(of: #/\w+/#).map { String($0.output) }
                    }
                } else if declared != nil || extended != nil,
                    let match = line.prefixMatch(of: #/\s{4}(?:static |mutating )*(?:var|func) (?<name>\w+)/#)
                {
                    let member = String(match.name)
                    if let declared { requirements[declared, default: []].insert(member) }
                    if let extended { given.append((extended, member)) }
                }
            }
        }
        func isRequired(_ member: String, by name: String) -> Bool {
            guard let refined = refined[name] else { return false }
            return requirements[name]?.contains(member) == true || refined.contains { isRequired(member, by: $0) }
        }
        return given.filter { isRequired($0.member, by: $0.extended) }.map { "\($0.extended).\($0.member)" }
    }

    @Test func aHiddenMemberIsFound() {
        let code = """
            package protocol Source: Sendable {
                var observer: Int? { get }
            }

            package protocol Wrapping: Source {
                func next() -> Int
            }

            extension Wrapping {
                var observer: Int? { nil }
                package func next() -> Int { 1 }
                func last() -> Int { 2 }
            }
            """
        #expect(Self.hiddenMembers(in: [code]) == ["Wrapping.observer"])
    }
}
