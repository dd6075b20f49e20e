@testable import KeyModule
import Synchronization
import Testing

@Suite("What stops a key behind the signer", .timeLimit(.minutes(1)))
struct OutageCircuitTests {
    private final class Key: Sendable {
        let looks = Atomic(0)
        let worksFrom: Int

        init(worksFrom: Int = .max) { self.worksFrom = worksFrom }

        func look() throws(KeyError) {
            let count = looks.add(1, ordering: .relaxed).newValue
            guard count >= worksFrom else { throw .cryptography("look \(count)") }
        }
    }

    private func open(_ circuit: OutageCircuit, _ error: KeyError, of key: Key) {
        circuit.open(error, of: key) { key throws(KeyError) in try key.look() }
    }

    private func wait(until condition: () -> Bool) async throws {
        while !condition() { try await Task.sleep(for: .milliseconds(5)) }
    }

    @Test func `one loop looks, however often the key failed, until the key works again`() async throws {
        let circuit = OutageCircuit()
        let key = Key(worksFrom: 3)
        #expect(circuit.failure == nil)
        open(circuit, .cryptography("first"), of: key)
        open(circuit, .cryptography("second"), of: key)
        #expect(circuit.failure == .cryptography("second"))
        try await wait { key.looks.load(ordering: .relaxed) > 0 }
        try await wait { circuit.failure == nil }
        #expect(key.looks.load(ordering: .relaxed) == 3)
        // It works a second time.
        open(circuit, .cryptography("later"), of: key)
        #expect(circuit.failure == .cryptography("later"))
        try await wait { circuit.failure == nil }
        #expect(key.looks.load(ordering: .relaxed) == 4)
    }

    @Test func `a key that was released is looked at no more`() async throws {
        let circuit = OutageCircuit()
        weak var released: Key?
        do {
            let key = Key()
            released = key
            open(circuit, .cryptography("away"), of: key)
        }
        try await wait { released == nil }
        #expect(circuit.failure == .cryptography("away"))
    }
}
