import Testing

/// The cases of the Autobahn test suite that run, by the numbers that the article "Conversations" says.
struct AutobahnCasesTests {
    private static func cases(_ extents: [AutobahnCases.Extent]) -> Set<String> {
        Set(extents.flatMap { extent in AutobahnCases.all.flatMap { $0.cases(extent) } })
    }

    @Test func theTwoLibcurlsRunAllCasesButNineteen() {
        let left = Self.cases([.complete]).subtracting(Self.cases([.currentLibcurl, .oldLibcurl]))
        #expect(left.count == 19 && AutobahnCases.framingCount + Self.cases([.complete]).count == 517)
        #expect(AutobahnCases.framingCount + Self.cases([.currentLibcurl, .oldLibcurl]).count == 498)
        let groups = Set(left.map { String($0.prefix(4)) })
        #expect(groups == ["12.2", "12.3", "12.5"])
    }

    @Test func theEverydayRunHasASmallCaseOfEachGroup() {
        let cases = Self.cases([.everyday])
        #expect(cases.isSubset(of: Self.cases([.small])) && cases.count == 14)
        #expect(Set(cases.map { $0.split(separator: ".").prefix(2) }).count == 12)
    }

    @Test(arguments: AutobahnCases.Extent.allCases.filter { $0 != .everyday })
    func eachRunHasTheSmallCasesOfAllGroupsOnce(_ extent: AutobahnCases.Extent) {
        let cases = AutobahnCases.all.flatMap { $0.cases(extent) }
        #expect(Set(cases).count == cases.count)
        #expect(Set(cases).isSuperset(of: Self.cases([.small])))
        // Twelve groups of seven, and three others.
        #expect(Self.cases([.small]).count == 12 * 7 + 3)
    }
}
