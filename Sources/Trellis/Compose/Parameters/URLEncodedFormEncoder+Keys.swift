extension URLEncodedFormEncoder {
    /// How the elements of an array are named, for a key `a`.
    public enum ArrayEncoding: Sendable {
        /// `a[]=1&a[]=2`. Elements that are arrays or objects themselves cannot always be told apart again; take
        /// ``indexInBrackets`` for those.
        case brackets
        /// `a=1&a=2`
        case noBrackets
        /// `a[0]=1&a[1]=2`
        case indexInBrackets
        /// What a closure makes of the key so far and the index.
        case custom(@Sendable (_ key: String, _ index: Int) -> String)

        func name(_ key: String, _ index: Int) -> String {
            switch self {
            case .brackets: "\(key)[]"
            case .noBrackets: key
            case .indexInBrackets: "\(key)[\(index)]"
            case .custom(let name): name(key, index)
            }
        }
    }

    /// What becomes of an array without elements, for a key `a`.
    ///
    /// The format has no place for it. Parsers that know ``ArrayEncoding/brackets`` and ``ArrayEncoding/indexInBrackets`` read a
    /// bare `a[]` as one (Rails and the `qs` of Node with its option); with the other namings there is no such thing, so that
    /// the key is left out in both cases. For an object without members there is none with any.
    public enum EmptyArrayEncoding: Sendable, Hashable {
        /// `a[]`, where brackets are used.
        case bareBrackets
        /// The key is left out.
        case dropKey
    }

    /// How the key of a member follows that of its object, for `b` in `a`.
    public enum KeyPathEncoding: Sendable {
        /// `a[b]`
        case brackets
        /// `a.b`
        case dots
        /// What a closure makes of the member's key; it is put after the object's.
        case custom(@Sendable (_ subkey: String) -> String)

        func suffix(_ subkey: String) -> String {
            switch self {
            case .brackets: "[\(subkey)]"
            case .dots: ".\(subkey)"
            case .custom(let suffix): suffix(subkey)
            }
        }
    }

    /// How each key is written, those of dictionaries and of nested objects too.
    public enum KeyEncoding: Sendable {
        /// As it is.
        case useDefaultKeys
        /// `oneTwoThree` becomes `one_two_three`, `myURL` becomes `my_url`.
        case convertToSnakeCase
        /// `oneTwoThree` becomes `one-two-three`.
        case convertToKebabCase
        /// `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// `oneTwoThree` becomes `ONETWOTHREE`.
        case uppercased
        /// `oneTwoThree` becomes `onetwothree`.
        case lowercased
        /// What a closure makes of it.
        case custom(@Sendable (_ key: String) -> String)

        func encode(_ key: String) -> String {
            switch self {
            case .useDefaultKeys: key
            case .convertToSnakeCase: Self.words(of: key).joined(separator: "_")
            case .convertToKebabCase: Self.words(of: key).joined(separator: "-")
            case .capitalized: key.prefix(1).uppercased() + key.dropFirst()
            case .uppercased: key.uppercased()
            case .lowercased: key.lowercased()
            case .custom(let encode): encode(key)
            }
        }

        /// A word begins at a capital after another sort of character, and at the last of several capitals where a small
        /// letter follows.
        private static func words(of key: String) -> [String] {
            let characters = Array(key)
            var words: [String] = []
            var word = ""
            for (index, character) in characters.enumerated() {
                let follows = index > 0 && characters[index - 1].isUppercase
                let leads = index + 1 < characters.count && characters[index + 1].isLowercase
                let separates = index > 0 && !"_-".contains(characters[index - 1])
                if character.isUppercase, separates, !follows || leads {
                    words.append(word)
                    word = ""
                }
                word += character.lowercased()
            }
            return words + [word]
        }
    }
}
