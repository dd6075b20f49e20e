import Testing

@testable import native_sso

@Suite struct DatabaseStateTests {
    private func state(
        readOnly: Bool = false, lossy: Bool = false, waits: Bool = false, ahead: Int64 = 0
    ) -> DatabaseState {
        DatabaseState(
            isReadOnly: readOnly, commitsMayBeLost: lossy, waitsForStandby: waits, milliseconds: 1_000_000 + ahead)
    }

    @Test func whatIsWrongIsNamed() {
        #expect(state().problem(at: 1_000_000) == nil)
        #expect(state(readOnly: true).problem(at: 1_000_000)?.description == "read_only")
        #expect(state(lossy: true).problem(at: 1_000_000)?.description == "synchronous_commit_off")
        #expect(state(waits: true).problem(at: 1_000_000)?.description == "standby_missing")
    }

    @Test("30 s between the clocks are allowed either way, and no more", arguments: [1, -1] as [Int64])
    func clocks(sign: Int64) {
        #expect(state(ahead: sign * 30_000).problem(at: 1_000_000) == nil)
        #expect(state(ahead: sign * 30_001).problem(at: 1_000_000)?.description == "clocks_apart")
        #expect(state().problem(at: sign < 0 ? .min : .max)?.description == "clocks_apart")
    }
}
