import Testing

@testable import TrellisCore

/// Pins in both spellings, and texts that are not pins.
struct PublicKeyPinTests {
    @Test(arguments: [
        "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
    ])
    func bothSpellings(_ text: String) throws {
        let pin = try PublicKeyPin(text)
        #expect(pin.digest.count == 32)
        #expect(pin.description == "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=")
    }

    /// The slash is a digit of Base64, too: the number of digits tells to which part it belongs.
    @Test func aDigestThatBeginsWithASlash() throws {
        let digits = "/7DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
        #expect(try PublicKeyPin("sha256/" + digits) == PublicKeyPin("sha256//" + digits))
        #expect(try PublicKeyPin("sha256/" + digits).description == "sha256/" + digits)
    }

    @Test(arguments: [
        "", "sha256", "sha256/", "sha256//", "47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "sha1/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "SHA256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU", "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuF==",
        "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n", " sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
        "sha256/47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=", "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFV=",
        "sha256/e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "sha256///47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "sha256/AAAA",
        "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=;sha256//AAAA",
    ])
    func textsThatAreNoPins(_ text: String) {
        let error = #expect(throws: TrellisError.self) { _ = try PublicKeyPin(text) }
        #expect(error?.kind == .invalidRequest)
    }
}
