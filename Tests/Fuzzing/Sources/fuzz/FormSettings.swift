import FoundationEssentials

@testable import TrellisCore

/// An encoder whose options are determined by the bytes of an input, and the meaning of the options for the model.
struct FormSettings {
    struct Refused: Error {}

    let encoder: URLEncodedFormEncoder
    /// The bytes that are written unescaped.
    let allowed: Set<UInt8>
    let replacesSpaces: Bool

    init(_ choices: inout Choices) {
        let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
        let (characters, set): (String, URLEncodedFormEncoder.AllowedCharacters)
        switch choices.number(below: 5) {
        case 0: (characters, set) = (letters + "-._~/?", .default)
        case 1: (characters, set) = (letters + "-._~", .unreserved)
        case 2: (characters, set) = (letters + "*-._", .html)
        default:
            let (one, other) = (choices.text(), choices.text())
            (characters, set) = (one + other, .init(one).union(.init(other)))
        }
        allowed = Set(characters.utf8.filter { 0x21...0x7E ~= $0 && !"%&+=#".utf8.contains($0) })
        replacesSpaces = choices.bool()
        encoder = URLEncodedFormEncoder(
            alphabetizeKeyValuePairs: !choices.bool(),
            arrayEncoding: choices.element(of: [
                .brackets, .noBrackets, .indexInBrackets, .custom { "\($0)=\($1)" },
                .custom { "\($1 % 2)\($0.prefix(9))" },
            ]),
            emptyArrayEncoding: choices.element(of: [.bareBrackets, .dropKey]),
            boolEncoding: choices.element(of: [.numeric, .literal]),
            dataEncoding: choices.element(of: [
                .base64, .deferredToData, .custom { String(decoding: $0, as: UTF8.self) },
                .custom { _ in throw Refused() },
            ]),
            dateEncoding: choices.element(of: [
                .deferredToDate, .secondsSince1970, .millisecondsSince1970, .iso8601, .iso8601WithFractionalSeconds,
                .custom { "\($0 < Date(timeIntervalSince1970: 0))" }, .custom { _ in throw Refused() },
            ]),
            keyEncoding: choices.element(of: [
                .useDefaultKeys, .convertToSnakeCase, .convertToKebabCase, .capitalized, .uppercased, .lowercased,
                .custom { "\($0.utf8.count)" }, .custom { String($0.unicodeScalars.prefix(1)) },
            ]),
            keyPathEncoding: choices.element(of: [.brackets, .dots, .custom { "&\($0)" }]),
            nilEncoding: choices.element(of: [.dropKey, .dropValue, .null, .custom { "%" }, .custom { nil }]),
            spaceEncoding: replacesSpaces ? .plusReplaced : .percentEscaped, allowedCharacters: set)
    }
}
