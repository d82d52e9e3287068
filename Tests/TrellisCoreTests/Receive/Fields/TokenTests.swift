import HTTPTypes
import TestSupport
import Testing

@testable import TrellisCaching
@testable import TrellisCore

/// Tokens are compared as ASCII bytes: the kelvin sign is no `k`, the long s is no `S`, and an accent leaves a delimiter what it is.
struct TokenTests {
    private static let kelvin = "\u{212A}"

    @Test func connectionOptionsAreBytes() {
        let fields: HTTPFields = [.connection: "x-\(Self.kelvin)ey", HTTPField.Name("X-Key")!: "1"]
        #expect(ConnectionFields.removed(from: fields)[HTTPField.Name("X-Key")!] == "1")
    }

    @Test func schemesOfAuthenticationAreBytes() throws {
        let challenge = try #require(AuthenticationChallenge.parse("Kerberos realm=\"a\"").first)
        #expect(challenge.isScheme("kERBEROS"))
        #expect(!challenge.isScheme("\(Self.kelvin)erberos"))
    }

    @Test func originsAreBytes() {
        let origin = URLOrigin(scheme: "http", host: "K.example", port: 80)
        #expect(origin == URLOrigin(scheme: "HTTP", host: "k.example", port: 80))
        #expect(origin != URLOrigin(scheme: "http", host: "\(Self.kelvin).example", port: 80))
        let redirect = Redirect(status: .found, from: "http://k.example/", to: "http://\(Self.kelvin).example/")
        #expect(redirect.changesOrigin)
        #expect(!Redirect(status: .found, from: "http://k.example/", to: "HTTP://K.example/b").changesOrigin)
    }

    @Test func credentialsAreForTheBytesOfAMachine() {
        let netrc = Netrc(entries: [Netrc.Entry(machine: "\(Self.kelvin).example", login: "a", password: "b")])
        #expect(netrc.credential(for: "k.example") == nil)
    }

    @Test(arguments: JoiningScalars.all)
    func rangesAreBytes(_ scalar: Unicode.Scalar) {
        #expect(RequestedRange([.range: "bytes=0-5"]) == .from(0, through: 5))
        #expect(RequestedRange([.range: "bytes=\(scalar)0-5"]) == nil)
        #expect(ContentRange("bytes 0-5/9") != nil)
        #expect(ContentRange("bytes\(scalar) 0-5/9") == nil)
        #expect(ContentRange("bytes 0-5/\(scalar)9") == nil)
    }
}
