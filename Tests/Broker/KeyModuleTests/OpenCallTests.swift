import Testing

@testable import KeyModule

@Suite("Calls of keys in another process", .timeLimit(.minutes(1)))
struct OpenCallTests {
    private let calls = OpenCalls(patience: .seconds(60), most: 2, late: .signer(.noAnswer))

    @Test func `an answer before the wait is kept, and only the first counts`() async throws {
        let call = try #require(calls.begin())
        calls.give([(.success([1]), number: call.number)])
        calls.give([(.success([2]), number: call.number)])
        calls.giveAll(.failure(.signer(.noAnswer)))
        #expect(try await call.answer.get() == [1])
    }

    @Test func `each caller who waits gets its own answer`() async throws {
        let (one, two) = (try #require(calls.begin()), try #require(calls.begin()))
        async let first = one.answer.get()
        async let second = two.answer.get()
        calls.give([(.success([2]), number: two.number), (.success([1]), number: one.number)])
        #expect(try await (first, second) == ([1], [2]))
    }

    @Test func `an answered call makes room, whether or not somebody waits`() throws {
        let (one, _) = (try #require(calls.begin()), try #require(calls.begin()))
        #expect(calls.begin() == nil)
        calls.give([(.success([]), number: one.number)])
        #expect(calls.begin() != nil)
        #expect(calls.begin() == nil)
        calls.giveAll(.failure(.signer(.noAnswer)))
        #expect(calls.begin() != nil)
    }

    @Test func `a late call fails, and takes no later answer`() async throws {
        final class Owner: Sendable {}
        let owner = Owner()
        let calls = OpenCalls(patience: .zero, most: 1, late: .signer(.noAnswer))
        let call = try #require(calls.begin())
        calls.watch(for: owner) { _ in }
        #expect(await call.answer == .failure(.signer(.noAnswer)))
        withExtendedLifetime(owner) {}
        calls.give([(.success([1]), number: call.number)])
        #expect(await call.answer == .failure(.signer(.noAnswer)))
    }
}
