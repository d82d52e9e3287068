extension URLEncodedFormEncoder {
    /// The naming of an array's elements, for a key `a`.
    public enum ArrayEncoding: Sendable {
        /// Empty brackets: `a[]=1&a[]=2`. Elements that are themselves arrays or objects cannot always be separated again; use
        /// ``indexInBrackets`` for them.
        case brackets
        /// The key alone: `a=1&a=2`
        case noBrackets
        /// The index in brackets: `a[0]=1&a[1]=2`
        case indexInBrackets
        /// The name that a closure returns for the key so far and the index.
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

    /// The treatment of an array without elements, for a key `a`.
    ///
    /// The format has no notation for an empty array. Parsers that know ``ArrayEncoding/brackets`` and
    /// ``ArrayEncoding/indexInBrackets`` read a bare `a[]` as an empty array (Rails, and the `qs` package of Node with its
    /// option). The other namings have no such notation, so the key is left out in both cases. An object without members has no
    /// notation in any naming.
    public enum EmptyArrayEncoding: Sendable, Hashable {
        /// A bare `a[]`, for the namings with brackets.
        case bareBrackets
        /// The omission of the key.
        case dropKey
    }

    /// The naming of an object's members, for a member `b` of `a`.
    public enum KeyPathEncoding: Sendable {
        /// Brackets: `a[b]`
        case brackets
        /// A dot: `a.b`
        case dots
        /// The suffix that a closure returns for the member's key. The suffix is put after the object's name.
        case custom(@Sendable (_ subkey: String) -> String)

        func suffix(_ subkey: String) -> String {
            switch self {
            case .brackets: "[\(subkey)]"
            case .dots: ".\(subkey)"
            case .custom(let suffix): suffix(subkey)
            }
        }
    }

    /// The spelling of each key, including the keys of dictionaries and of nested objects.
    public enum KeyEncoding: Sendable {
        /// The original spelling.
        case useDefaultKeys
        /// Snake case: `oneTwoThree` becomes `one_two_three`, `myURL` becomes `my_url`.
        case convertToSnakeCase
        /// Kebab case: `oneTwoThree` becomes `one-two-three`.
        case convertToKebabCase
        /// A capital first letter: `oneTwoThree` becomes `OneTwoThree`.
        case capitalized
        /// Capital letters: `oneTwoThree` becomes `ONETWOTHREE`.
        case uppercased
        /// Small letters: `oneTwoThree` becomes `onetwothree`.
        case lowercased
        /// The spelling that a closure returns for the key.
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

        /// Returns the words of a key in small letters. A word begins at a capital after another kind of character, and at the
        /// last of several capitals if a small letter follows.
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
