import CurlEngine
import Testing
import TrellisTesting

@testable import TrellisCore

/// The names for which a resolver is not asked.
@Suite(.timeLimit(.minutes(3)))
struct LocalNamesTests {
    // MARK: The rule

    @Test(arguments: [
        ("db", true), ("db.", true), ("DB", true), ("xn--bcher-kva", true), ("printer.local", true), ("local", true),
        ("Printer.LOCAL.", true), ("a.b.svc.cluster.local", true), ("wiki.internal", true),
        ("ip-10-0-0-1.ec2.internal", true), ("router.home.arpa", true), ("home.arpa", true), ("a.arpa", false),
        ("arpa", true), ("mylocal.example", false), ("local.example", false), ("a.notlocal", false),
        ("a.xlocal", false), ("www.example.com", false), ("internal.example.com", false), ("a.test", false),
        ("a.\u{212a}internal", false),
    ])
    func theStandardNames(_ name: String, _ isLocal: Bool) {
        #expect(LocalNames.standard.contains(name) == isLocal)
        #expect(!LocalNames.none.contains(name))
    }

    @Test(arguments: [
        ("corp.example", true), ("a.b.corp.example.", true), ("acorp.example", false), ("db", false),
        ("printer.local", false), ("host.one", true), ("a.host.one", false),
    ])
    func namesOfOnesOwn(_ name: String, _ isLocal: Bool) throws {
        let names = LocalNames(hosts: [try HostPattern("**.corp.example"), try HostPattern("host.one")])
        #expect(names.contains(name) == isLocal)
    }

    // MARK: The file of names

    private static let file = """
        127.0.0.1\tlocalhost
        # 10.0.0.1 commented.example
        10.0.0.7  Wiki.Corp.example  wiki\t alias.corp.example # also.example
        192.0.2.1 last.example.
        ::1 six.example\r
        onlyname.example
        10.0.0.8 end_1.example
        """

    @Test(arguments: [
        ("wiki.corp.example", true), ("WIKI.corp.example.", true), ("wiki", true), ("alias.corp.example", true),
        ("also.example", false), ("commented.example", false), ("last.example", true), ("six.example", true),
        ("onlyname.example", false), ("end_1.example", true), ("end\u{7f}1.example", false), ("corp.example", false),
        ("wiki.corp.exampl", false), ("10.0.0.7", false), ("w\u{130}ki", false),
    ])
    func theNamesOfAFile(_ name: String, _ isThere: Bool) {
        #expect(LocalNames.isName(name, in: [UInt8](Self.file.utf8)) == isThere)
    }

    @Test func anEmptyFileHasNoNames() { #expect(!LocalNames.isName("a", in: [])) }

    /// Without its file, a name is not local.
    @Test func aFileThatIsNotThereHasNoNames() async throws {
        var names = LocalNames(includesHostsFile: true)
        names.hostsFile = "/nosuch/hosts"
        #expect(try await names.addresses(of: "a.example", family: .any) == nil)
    }

    @Test func aCancelledTaskReadsNoFile() async throws {
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            return try await LocalNames(includesHostsFile: true).addresses(of: "a.example", family: .any)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
