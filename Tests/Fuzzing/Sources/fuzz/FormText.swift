/// A strict parser of form texts, which returns `nil` if a byte is not allowed.
struct FormText {
    private let settings: FormSettings

    init(_ settings: FormSettings) { self.settings = settings }

    func pairs(_ text: String) -> [FormModel.Pair]? {
        if text.isEmpty { return [] }
        var pairs: [FormModel.Pair] = []
        for pair in Array(text.utf8).split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false) {
            let sides = pair.split(separator: UInt8(ascii: "="), omittingEmptySubsequences: false)
            guard sides.count <= 2, !pair.isEmpty, let name = decode(sides[0]) else { return nil }
            guard sides.count == 2 else {
                pairs.append(FormModel.Pair(name: name, value: nil))
                continue
            }
            guard let value = decode(sides[1]) else { return nil }
            pairs.append(FormModel.Pair(name: name, value: value))
        }
        return pairs
    }

    /// Returns the decoded text. Each byte has exactly one form, either itself or encoded.
    private func decode(_ bytes: ArraySlice<UInt8>) -> String? {
        var result: [UInt8] = []
        var rest = bytes
        while let byte = rest.popFirst() {
            if byte == UInt8(ascii: "+"), settings.replacesSpaces {
                result.append(0x20)
            } else if byte == UInt8(ascii: "%") {
                guard let high = rest.popFirst().flatMap(Self.digit), let low = rest.popFirst().flatMap(Self.digit)
                else {
                    return nil
                }
                let byte = high << 4 | low
                guard !settings.allowed.contains(byte), !(byte == 0x20 && settings.replacesSpaces) else { return nil }
                result.append(byte)
            } else {
                guard settings.allowed.contains(byte) else { return nil }
                result.append(byte)
            }
        }
        return String(validating: result, as: UTF8.self)
    }

    private static func digit(_ byte: UInt8) -> UInt8? {
        Array("0123456789ABCDEF".utf8).firstIndex(of: byte).map(UInt8.init)
    }
}
