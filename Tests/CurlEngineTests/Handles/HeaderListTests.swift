import CCurl
import Testing

@testable import CurlEngine

/// The list of header lines that libcurl gets.
struct HeaderListTests {
    private func entries(_ fields: [(String, String)], suppressing names: [String] = []) -> [String] {
        var lines = HeaderLines()
        for name in names { lines.suppress(name) }
        for (name, value) in fields {
            let isAdded = lines.append(name: name, value: value)
            #expect(isAdded)
        }
        let list = unsafe lines.packed()
        defer { unsafe ccurl_free(list) }
        var entries: [String] = []
        var next = unsafe list
        while let node = unsafe next {
            unsafe entries.append(String(cString: node.pointee.data))
            unsafe next = node.pointee.next
        }
        return entries
    }

    @Test func fieldsThatLibcurlDoesNotLookForShareAnEntry() {
        let agent = ("User-Agent", "a/1"), coding = ("accept-encoding", "gzip"), own = ("X-Own", "1")
        #expect(entries([agent, coding, own]) == ["User-Agent: a/1\r\naccept-encoding: gzip\r\nX-Own: 1"])
        #expect(entries([agent]) == ["User-Agent: a/1"])
        let credentials = ("Authorization", "Bearer a"), cookie = ("Cookie", "a=1"), trace = ("traceparent", "00")
        #expect(
            entries([credentials, cookie, trace, agent])
                == ["Authorization: Bearer a\r\nCookie: a=1\r\ntraceparent: 00\r\nUser-Agent: a/1"])
        #expect(entries([]) == [])
    }

    @Test(arguments: ["Accept", "Host", "Content-Type", "Expect", "Cookies", "Proxy-Authorization", "X", "TE", "Range"])
    func otherFieldsHaveTheirOwnEntries(_ name: String) {
        let listed = entries([("X-A", "1"), (name, "2"), ("X-B", "3"), ("X-C", "4")])
        #expect(listed == ["X-A: 1", "\(name): 2", "X-B: 3\r\nX-C: 4"])
    }

    @Test func fieldsWithoutAValueHaveTheirOwnEntries() {
        let listed = entries([("X-A", ""), ("X-B", "1"), ("X-C", " "), ("X-D", "2")], suppressing: ["X-E"])
        #expect(listed == ["X-E:", "X-A;", "X-B: 1", "X-C:  ", "X-D: 2"])
    }
}
