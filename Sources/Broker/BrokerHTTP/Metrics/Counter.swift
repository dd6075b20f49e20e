import Synchronization

/// A number that many threads change at once.
final class Counter: Sendable {
    private let count = Atomic<Int64>(0)

    var value: Int64 { count.load(ordering: .relaxed) }

    func add(_ amount: Int64 = 1) { count.wrappingAdd(amount, ordering: .relaxed) }
}
