@testable import TrellisCore

/// The place of a value in a form: its name (`nil` at the top), and the numbers of arrays, objects and calls around the value.
struct FormPlace {
    private(set) var name: String?
    private var depth = 0
    private var calls = 0

    /// Creates the place at the top.
    init() {}

    /// Returns the place one call deeper.
    func called() -> FormPlace {
        var place = self
        place.calls += 1
        return place
    }

    /// Returns the place of a value that is written here.
    ///
    /// - Throws: ``FormModel/Impossible`` beyond 400 calls.
    func written() throws -> FormPlace {
        guard calls <= 400 else { throw FormModel.Impossible() }
        return self
    }

    /// Returns the place of an element of an array that is here.
    func element(_ index: Int, _ encoder: URLEncodedFormEncoder) throws -> FormPlace {
        try child(encoder.arrayEncoding.name(name ?? "", index))
    }

    /// Returns the place of a member of an object that is here.
    func member(_ key: String, _ encoder: URLEncodedFormEncoder) throws -> FormPlace {
        guard let name else { return try child(key) }
        return try child(name + encoder.keyPathEncoding.suffix(key))
    }

    private func child(_ name: String) throws -> FormPlace {
        guard depth < 100 else { throw FormModel.Impossible() }
        var place = called()
        place.name = name
        place.depth += 1
        return place
    }
}
