/// The numbers of the origins that sockets are connected to, so that a socket refers to its origin without text. A number is valid while a
/// socket uses it.
struct OriginNumbers {
    private var numbers: [String: Int32] = [:]
    private var names: [String] = []
    private var useCounts: [Int] = []
    private var free: [Int32] = []

    /// Returns the number of an origin; `nil` if no socket uses it.
    func number(of name: String) -> Int32? { numbers[name] }

    /// Returns the origin with a number.
    func name(of number: Int32) -> String { names[Int(number)] }

    /// Returns whether an origin has a number.
    func isNumber(_ number: Int32, of name: String) -> Bool { number >= 0 && names[Int(number)] == name }

    /// Returns the number of an origin for one more socket.
    mutating func use(_ name: String) -> Int32 {
        let number = numbers[name] ?? add(name)
        useCounts[Int(number)] += 1
        return number
    }

    private mutating func add(_ name: String) -> Int32 {
        let number = free.popLast() ?? Int32(clamping: names.count)
        if Int(number) == names.count {
            names.append(name)
            useCounts.append(0)
        } else {
            names[Int(number)] = name
        }
        numbers[name] = number
        return number
    }

    /// Ends the use of a number by a socket.
    mutating func endUse(_ number: Int32) {
        useCounts[Int(number)] -= 1
        guard useCounts[Int(number)] == 0 else { return }
        numbers[names[Int(number)]] = nil
        names[Int(number)] = ""
        free.append(number)
    }
}
