import FoundationEssentials

/// The JSON body that is posted, about 300 bytes.
struct Order: Encodable {
    /// A line of the order.
    struct Item: Encodable {
        var sku: String
        var quantity: Int
        var price: Double
    }

    var id: Int
    var customer = "Ada Lovelace"
    var email = "ada@example.com"
    var express = true
    var note = "Leave it with the neighbour at number 12"
    var items = [
        Item(sku: "TR-1001", quantity: 2, price: 19.5),
        Item(sku: "TR-2040", quantity: 1, price: 44.25),
        Item(sku: "TR-3300", quantity: 5, price: 4.2),
    ]
}

/// The JSON body of the response.
struct Receipt: Decodable {
    var id: Int
    var accepted: Bool
    var total: Double
    var currency: String
    var warehouse: String
    var messages: [String]
}

/// An encoder of orders and a decoder of receipts, which one task keeps.
struct OrderDesk {
    private let encoder = JSONEncoder()
    private let decoder = JSONDecoder()

    func encoded(identifier: Int) throws -> Data {
        try encoder.encode(Order(id: identifier))
    }

    func check(_ answer: Data) throws {
        let receipt = try decoder.decode(Receipt.self, from: answer)
        guard receipt.accepted, !receipt.currency.isEmpty else { throw UnexpectedAnswer("not accepted") }
    }
}
