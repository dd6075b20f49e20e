import BrokerTesting
import PostgresClient
import Registry
import Testing

@testable import NativeSSO

@Suite("Relayed codes in PostgreSQL", .serialized)
struct PostgresCodeRegisterTests {
    /// One code at a time, claimed by numbered requests.
    private struct Code: Sendable {
        static let name = CodeName(octets: Array(repeating: 1, count: 32))
        static let binding = CodeBinding(octets: Array(repeating: 2, count: 32))
        static let otherBinding = CodeBinding(octets: Array(repeating: 3, count: 32))

        let database: PostgresFixture
        let register: PostgresCodeRegister

        private static func request(_ number: UInt64) -> UniqueID { UniqueID(high: 1, low: number) }

        func claim(
            _ number: UInt64, _ binding: CodeBinding = Self.binding, name: CodeName = Self.name,
            proof: PresentedProof? = nil
        ) async throws -> CodeClaim {
            try await register.claim(
                CodeEntry(requestID: Self.request(number), code: name, binding: binding, proof: proof))
        }

        func send(_ number: UInt64 = 1) async throws -> Bool {
            try await register.send(Self.name, of: Self.request(number), patience: 15)
        }

        func settle(_ number: UInt64 = 1, as settlement: CodeSettlement) async throws -> Bool {
            try await register.settle(Self.name, of: Self.request(number), as: settlement)
        }

        func finish(_ answer: UInt8, _ binding: CodeBinding = Self.binding) async throws -> [UInt8]? {
            try await register.finish(Self.name, binding, answer: [answer])
        }

        func forget(_ binding: CodeBinding = Self.binding) async throws -> Bool {
            try await register.forget(Self.name, binding)
        }

        /// Begins anew with a code that the first request has sent.
        func sendAnew() async throws {
            _ = try await database.run(CodeSQL.clear, [])
            #expect(try await claim(1) == .granted)
            #expect(try await send())
        }

        func pass() async throws { _ = try await database.run(CodeSQL.pass, []) }
        func sweep() async throws { _ = try await database.run(RetentionSQL.sweepProofsFirst, []) }
        func answers() async throws -> Int64 { try await database.run(CodeSQL.answers, [])[0].int64(0) }
        func secondsLeft() async throws -> Int64 { try await database.run(CodeSQL.left, [])[0].int64(0) }
    }

    private func withCode(_ body: @Sendable (Code) async throws -> Void) async throws {
        try await TestDatabase.withFixture { database in
            let register = PostgresCodeRegister(database: database.service, claims: 4, settlements: 4)
            try await body(Code(database: database, register: register))
        }
    }

    @Test("One of many claims is granted, and the others wait")
    func oneClaim() async throws {
        try await withCode { code in
            let claims = try await atOnce(8) { try await code.claim(UInt64($0) + 1) }
            #expect(claims.count { $0 == .granted } == 1 && claims.count { $0 == .inFlight } == 7)
            // The code was not sent, so its holder may still release it.
            #expect(try await code.claim(9, Code.otherBinding) == .inFlight)
        }
    }

    @Test("An unsent reservation can be claimed again after its time; a sent code cannot")
    func reservations() async throws {
        try await withCode { code in
            #expect(try await code.claim(1) == .granted)
            // The same request again, after its first answer was lost.
            #expect(try await code.claim(1) == .granted)
            #expect(try await code.claim(2) == .inFlight)
            #expect(try await !code.send(2))
            // The holder is gone: the next request gets the code, and the holder can no longer send it.
            try await code.pass()
            #expect(try await code.claim(3, Code.otherBinding) == .granted)
            #expect(try await !code.send(1))
            #expect(try await !code.settle(1, as: .released))
            #expect(try await code.send(3))
            #expect(try await code.send(3))
            #expect(try await code.claim(4) == .used)
            #expect(try await code.claim(5, Code.otherBinding) == .inFlight)
            try await code.pass()
            #expect(try await code.claim(6, Code.otherBinding) == .used)
            #expect(try await !code.send(6))
            // The holder may report, however late, that the code never left.
            #expect(try await code.settle(3, as: .released))
            #expect(try await code.claim(7) == .granted)
        }
    }

    @Test("Only the same binding gets the kept tokens, and the answer replaces them once, for half a minute")
    func keeps() async throws {
        try await withCode { code in
            try await code.sendAnew()
            // A request cannot settle another request's claim.
            #expect(try await !code.settle(2, as: .kept([9])))
            for _ in 1...2 { #expect(try await code.settle(as: .kept([1]))) }
            #expect(try await !code.settle(as: .kept([2])))
            #expect(try await code.claim(2) == .kept([1]))
            #expect(try await (100...120).contains(code.secondsLeft()))
            #expect(try await code.finish(7, Code.otherBinding) == nil)
            #expect(try await code.finish(5) == [5])
            #expect(try await (20...30).contains(code.secondsLeft()))
            #expect(try await code.finish(6) == [5])
            // A repeated settlement does not undo later requests.
            #expect(try await !code.settle(as: .kept([1])))
            #expect(try await !code.forget())
            #expect(try await code.claim(3) == .kept([5]))
            #expect(try await code.claim(4, Code.otherBinding) == .used)
            // A repeated write begins the half minute anew.
            try await code.pass()
            #expect(try await code.finish(6) == nil)
            #expect(try await code.finish(5) == [5])
            #expect(try await (20...30).contains(code.secondsLeft()))
            // After it the answer is not given out again. The next claim of any code erases it.
            try await code.pass()
            #expect(try await code.claim(5) == .used)
            #expect(try await code.finish(8) == nil)
            _ = try await code.claim(6, name: CodeName(octets: Array(repeating: 9, count: 32)))
            #expect(try await code.answers() == 0)
            #expect(try await code.claim(7) == .used)
        }
    }

    @Test("A kept exchange can be forgotten, but not its used code")
    func forgets() async throws {
        try await withCode { code in
            try await code.sendAnew()
            #expect(try await !code.forget())
            #expect(try await code.settle(as: .kept([1])))
            #expect(try await !code.forget(Code.otherBinding))
            #expect(try await code.forget())
            #expect(try await !code.forget())
            #expect(try await code.finish(5) == nil)
            #expect(try await code.claim(2) == .used)
            #expect(try await code.answers() == 0)
        }
    }

    @Test("A released claim can be claimed again, a lost one cannot; tokens of a sent code are kept after its time")
    func releases() async throws {
        try await withCode { code in
            #expect(try await code.claim(1) == .granted)
            #expect(try await !code.settle(2, as: .released))
            #expect(try await code.settle(1, as: .released))
            #expect(try await code.claim(2) == .granted)
            #expect(try await code.send(2))
            #expect(try await code.settle(2, as: .lost))
            #expect(try await code.claim(3) == .used)
            #expect(try await !code.settle(2, as: .kept([1])))

            _ = try await code.database.run(CodeSQL.clear, [])
            #expect(try await code.claim(1) == .granted)
            try await code.pass()
            #expect(try await !code.settle(as: .kept([1])))
            #expect(try await code.send())
            try await code.pass()
            #expect(try await code.claim(2) == .used)
            #expect(try await !code.settle(as: .answered([1])))
            #expect(try await !code.settle(2, as: .kept([1])))
            #expect(try await code.settle(as: .kept([1])))
            #expect(try await code.claim(3) == .kept([1]))
        }
    }

    @Test("A proof works for one claim, whether granted or not")
    func proofs() async throws {
        try await withCode { code async throws in
            let (first, second) = (PresentedProof.random(), PresentedProof.random())
            #expect(try await code.claim(1, proof: first) == .granted)
            // The same request again, after its first answer was lost.
            #expect(try await code.claim(1, proof: first) == .granted)
            #expect(try await code.claim(2, proof: first) == .proofUsed)
            #expect(try await code.claim(3, proof: second) == .inFlight)
            #expect(try await code.claim(4, proof: second) == .proofUsed)
        }
    }

    /// A refused code yields no tokens, so a flood of them must not stay for a day.
    @Test("A sweep erases answers, and forgets codes that were refused after 15 minutes, others after a day")
    func sweeps() async throws {
        try await withCode { code in
            for (settlement, next) in [
                (CodeSettlement.answered([1]), CodeClaim.granted), (.kept([1]), .used), (.lost, .used),
            ] {
                try await code.sendAnew()
                #expect(try await code.settle(as: settlement))
                for minutes in [14, 2] as [Int32] {
                    #expect(try await code.claim(2) != .granted)
                    _ = try await code.database.run(CodeSQL.passMinutes, [.int32(minutes)])
                    try await code.sweep()
                    #expect(try await code.answers() == 0)
                }
                #expect(try await code.claim(3) == next)
            }
            _ = try await code.database.run(CodeSQL.age, [])
            try await code.sweep()
            #expect(try await code.claim(4) == .granted)
        }
    }
}

private enum CodeSQL {
    static let pass = Statement("UPDATE native_sso.relayed_code SET valid_until = now() - interval '1 second'")
    static let age = Statement("UPDATE native_sso.relayed_code SET expires_at = now() - interval '2 hours'")
    static let clear = Statement("DELETE FROM native_sso.relayed_code")
    static let passMinutes = Statement(
        """
        UPDATE native_sso.relayed_code SET expires_at = expires_at - make_interval(mins => $1),
            valid_until = valid_until - make_interval(mins => $1)
        """)
    static let left = Statement(
        "SELECT ceil(extract(epoch FROM valid_until - now()))::bigint FROM native_sso.relayed_code")
    static let answers = Statement("SELECT count(*) FROM native_sso.relayed_code WHERE answer IS NOT NULL")
}
