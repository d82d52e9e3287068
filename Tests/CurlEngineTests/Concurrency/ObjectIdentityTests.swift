import Testing

@testable import CurlEngine

/// The identity of an object behind a value of a protocol.
struct ObjectIdentityTests {
    private protocol Numbered {
        var number: Int { get }
    }

    private struct Value: Numbered {
        let number: Int
    }

    private final class Object: Numbered {
        let number: Int

        init(_ number: Int) { self.number = number }
    }

    private static func identity<Kind: Numbered>(of value: Kind) -> ObjectIdentifier? {
        ObjectIdentifier(ofObject: value)
    }

    @Test func anObjectHasItsIdentity() {
        let (object, other) = (Object(1), Object(2))
        let (one, two): (any Numbered, any Numbered) = (object, other)
        let identities = [Self.identity(of: one), Self.identity(of: two)]
        let wanted: [ObjectIdentifier?] = [ObjectIdentifier(object), ObjectIdentifier(other)]
        #expect(identities == wanted)
        #expect(one.number == 1 && two.number == 2)
    }

    /// The object has one reference more while its identity is made, and not after that.
    @Test func anObjectIsNotRetained() {
        var object = Object(1)
        let identity = Self.identity(of: object)
        let isUnique = isKnownUniquelyReferenced(&object)
        #expect(isUnique && identity != nil)
    }

    @Test func aValueHasNoIdentity() {
        let value: any Numbered = Value(number: 1)
        let identity = Self.identity(of: value)
        #expect(identity == nil && value.number == 1)
    }
}
