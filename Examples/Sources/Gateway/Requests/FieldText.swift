import HTTPTypes

extension HTTPFields {
    /// Returns the elements of all fields with a name, in lower case and without the blanks around them (RFC 9110, section 5.6.1).
    func elements(of name: HTTPField.Name) -> [String] {
        self[values: name].flatMap { $0.utf8.split(separator: UInt8(ascii: ",")) }.map { element in
            let isBlank = { (byte: UInt8) in byte == 0x20 || byte == 0x09 }
            var element = element.drop(while: isBlank)
            while let last = element.last, isBlank(last) { element.removeLast() }
            return Substring(element).lowercasedASCII()
        }
    }
}

extension StringProtocol {
    /// Returns the text with `A` to `Z` in lower case and every other byte as it is: the tokens of HTTP are ASCII, where `lowercased()`
    /// makes a `k` of the kelvin sign.
    func lowercasedASCII() -> String {
        String(decoding: utf8.map { 0x41...0x5A ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
