import BrokerTesting
import PostgresClient
import Registry
import Testing

@testable import NativeSSO

@Suite("Relayed codes in PostgreSQL", .serialized)
struct PostgresCodeRegisterTests {
    private static let name = CodeName(octets: Array(repeating: 1, count: 32))
    private static let binding = CodeBinding(octets: Array(repeating: 2, count: 32))

    private func entry(
        _ number: UInt64 = 1, binding: CodeBinding = Self.binding, proof: PresentedProof? = nil
    ) -> CodeEntry {
        CodeEntry(requestID: Self.request(number), code: Self.name, binding: binding, proof: proof)
    }

    private static func request(_ number: UInt64) -> UniqueID { UniqueID(high: 1, low: number) }

    private func send(_ register: PostgresCodeRegister, _ number: UInt64 = 1) async throws -> Bool {
        try await register.send(Self.name, of: Self.request(number), patience: 15)
    }

    private func withRegister(
        _ body: @Sendable (PostgresFixture, PostgresCodeRegister) async throws -> Void
    ) async throws {
        try await TestDatabase.withFixture { database in
            try await body(database, PostgresCodeRegister(database: database.service, claims: 4, settlements: 4))
        }
    }

    @Test("One of many claims is granted, and the others wait")
    func oneClaim() async throws {
        try await withRegister { _, register in
            let claims = try await atOnce(8) { try await register.claim(entry(UInt64($0) + 1)) }
            #expect(claims.count { $0 == .granted } == 1 && claims.count { $0 == .inFlight } == 7)
            // The code was not sent, so its holder may still release it.
            let other = CodeBinding(octets: Array(repeating: 3, count: 32))
            #expect(try await register.claim(entry(9, binding: other)) == .inFlight)
        }
    }

    @Test("An unsent reservation can be claimed again after its time; a sent code cannot")
    func reservations() async throws {
        try await withRegister { database, register in
            let other = CodeBinding(octets: Array(repeating: 3, count: 32))
            #expect(try await register.claim(entry(1)) == .granted)
            // The same request again, after its first answer was lost.
            #expect(try await register.claim(entry(1)) == .granted)
            #expect(try await register.claim(entry(2)) == .inFlight)
            #expect(try await !send(register, 2))
            // The holder is gone: the next request gets the code, and the holder can no longer send it.
            _ = try await database.superuser.query(CodeSQL.pass, [])
            #expect(try await register.claim(entry(3, binding: other)) == .granted)
            #expect(try await !send(register, 1))
            #expect(try await !register.settle(Self.name, of: Self.request(1), as: .released))
            #expect(try await send(register, 3))
            #expect(try await send(register, 3))
            #expect(try await register.claim(entry(4)) == .used)
            #expect(try await register.claim(entry(5, binding: other)) == .inFlight)
            _ = try await database.superuser.query(CodeSQL.pass, [])
            #expect(try await register.claim(entry(6, binding: other)) == .used)
            #expect(try await !send(register, 6))
            // The holder may report, however late, that the code never left.
            #expect(try await register.settle(Self.name, of: Self.request(3), as: .released))
            #expect(try await register.claim(entry(7)) == .granted)
        }
    }

    @Test("A repeated claim of one request uses its proof once")
    func repeatedClaims() async throws {
        try await withRegister { _, register in
            let key = try #require(KeyThumbprint(String(repeating: "k", count: 43)))
            let proof = PresentedProof(key: key, id: ProofID(key: key, jti: "1"), life: 60)
            #expect(try await register.claim(entry(1, proof: proof)) == .granted)
            #expect(try await register.claim(entry(1, proof: proof)) == .granted)
            #expect(try await register.claim(entry(2, proof: proof)) == .proofUsed)
        }
    }

    @Test("The half minute begins with the answer, and again with a repeated write")
    func lives() async throws {
        try await withRegister { database, register in
            func left() async throws -> Int64 { try await database.superuser.query(CodeSQL.left, [])[0].int64(0) }
            _ = try await register.claim(entry(1))
            _ = try await send(register)
            #expect(try await register.settle(Self.name, of: Self.request(1), as: .kept([1])))
            #expect(try await (100...120).contains(left()))
            #expect(try await register.finish(Self.name, Self.binding, answer: [5]) == [5])
            #expect(try await (20...30).contains(left()))
            _ = try await database.superuser.query(CodeSQL.pass, [])
            #expect(try await register.finish(Self.name, Self.binding, answer: [6]) == nil)
            #expect(try await register.finish(Self.name, Self.binding, answer: [5]) == [5])
            #expect(try await (20...30).contains(left()))
        }
    }

    @Test("A kept exchange can be forgotten, but not its used code")
    func forgets() async throws {
        try await withRegister { database, register in
            _ = try await register.claim(entry(1))
            _ = try await send(register)
            #expect(try await !register.forget(Self.name, Self.binding))
            _ = try await register.settle(Self.name, of: Self.request(1), as: .kept([1]))
            #expect(try await !register.forget(Self.name, CodeBinding(octets: Array(repeating: 3, count: 32))))
            #expect(try await register.forget(Self.name, Self.binding))
            #expect(try await !register.forget(Self.name, Self.binding))
            #expect(try await register.finish(Self.name, Self.binding, answer: [5]) == nil)
            #expect(try await register.claim(entry(2)) == .used)
            #expect(try await database.superuser.query(CodeSQL.answers, [])[0].int64(0) == 0)
        }
    }

    @Test("Only the same binding gets the kept tokens, and the answer replaces them once")
    func keeps() async throws {
        try await withRegister { database, register in
            _ = try await register.claim(entry())
            _ = try await send(register)
            // A request cannot settle another request's claim.
            #expect(try await !register.settle(Self.name, of: UniqueID(high: 1, low: 2), as: .kept([9])))
            #expect(try await register.settle(Self.name, of: UniqueID(high: 1, low: 1), as: .kept([1])))
            #expect(try await !register.settle(Self.name, of: UniqueID(high: 1, low: 1), as: .kept([2])))
            #expect(try await register.claim(entry(2)) == .kept([1]))
            let other = CodeBinding(octets: Array(repeating: 3, count: 32))
            #expect(try await register.finish(Self.name, other, answer: [7]) == nil)
            #expect(try await register.finish(Self.name, Self.binding, answer: [5]) == [5])
            #expect(try await register.finish(Self.name, Self.binding, answer: [6]) == [5])
            #expect(try await register.claim(entry(3)) == .kept([5]))
            #expect(try await register.claim(entry(4, binding: other)) == .used)
            // After half a minute the answer is not given out again. The next claim of any code erases it.
            _ = try await database.superuser.query(CodeSQL.pass, [])
            #expect(try await register.claim(entry(5)) == .used)
            #expect(try await register.finish(Self.name, Self.binding, answer: [8]) == nil)
            _ = try await register.claim(
                CodeEntry(
                    requestID: UniqueID(high: 1, low: 6), code: CodeName(octets: Array(repeating: 9, count: 32)),
                    binding: Self.binding, proof: nil))
            #expect(try await database.superuser.query(CodeSQL.answers, [])[0].int64(0) == 0)
            #expect(try await register.claim(entry(7)) == .used)
        }
    }

    @Test("A released claim can be claimed again; a lost one cannot")
    func releases() async throws {
        try await withRegister { _, register in
            _ = try await register.claim(entry(1))
            #expect(try await !register.settle(Self.name, of: UniqueID(high: 1, low: 2), as: .released))
            #expect(try await register.settle(Self.name, of: UniqueID(high: 1, low: 1), as: .released))
            #expect(try await register.claim(entry(2)) == .granted)
            #expect(try await send(register, 2))
            #expect(try await register.settle(Self.name, of: UniqueID(high: 1, low: 2), as: .lost))
            #expect(try await register.claim(entry(3)) == .used)
            #expect(try await !register.settle(Self.name, of: UniqueID(high: 1, low: 2), as: .kept([1])))
        }
    }

    @Test("Only the tokens of a sent code are kept after its time")
    func tooLate() async throws {
        try await withRegister { database, register in
            _ = try await register.claim(entry(1))
            _ = try await database.superuser.query(CodeSQL.pass, [])
            #expect(try await !register.settle(Self.name, of: Self.request(1), as: .kept([1])))
            _ = try await send(register)
            _ = try await database.superuser.query(CodeSQL.pass, [])
            #expect(try await register.claim(entry(2)) == .used)
            #expect(try await !register.settle(Self.name, of: Self.request(1), as: .answered([1])))
            #expect(try await !register.settle(Self.name, of: Self.request(2), as: .kept([1])))
            #expect(try await register.settle(Self.name, of: Self.request(1), as: .kept([1])))
            #expect(try await register.claim(entry(3)) == .kept([1]))
        }
    }

    @Test("A repeated settlement does not undo later requests")
    func passedOn() async throws {
        try await withRegister { _, register in
            _ = try await register.claim(entry(1))
            _ = try await send(register)
            #expect(try await register.settle(Self.name, of: Self.request(1), as: .kept([1])))
            #expect(try await register.settle(Self.name, of: Self.request(1), as: .kept([1])))
            #expect(try await register.finish(Self.name, Self.binding, answer: [5]) == [5])
            #expect(try await !register.settle(Self.name, of: Self.request(1), as: .kept([1])))
            #expect(try await !register.forget(Self.name, Self.binding))
            #expect(try await register.finish(Self.name, Self.binding, answer: [6]) == [5])
            #expect(try await register.claim(entry(2)) == .kept([5]))
        }
    }

    @Test("A proof works for one claim, whether granted or not")
    func proofs() async throws {
        try await withRegister { _, register in
            let key = try #require(KeyThumbprint(String(repeating: "k", count: 43)))
            func proof(_ jti: String) -> PresentedProof {
                PresentedProof(key: key, id: ProofID(key: key, jti: jti), life: 60)
            }
            #expect(try await register.claim(entry(1, proof: proof("1"))) == .granted)
            #expect(try await register.claim(entry(2, proof: proof("1"))) == .proofUsed)
            #expect(try await register.claim(entry(3, proof: proof("2"))) == .inFlight)
            #expect(try await register.claim(entry(4, proof: proof("2"))) == .proofUsed)
        }
    }

    @Test("A sweep erases answers and forgets old codes")
    func sweeps() async throws {
        try await withRegister { database, register in
            _ = try await register.claim(entry(1))
            _ = try await send(register)
            _ = try await register.settle(Self.name, of: UniqueID(high: 1, low: 1), as: .answered([1]))
            _ = try await database.superuser.query(CodeSQL.pass, [])
            _ = try await database.superuser.query(RetentionSQL.sweepProofsFirst, [])
            #expect(try await database.superuser.query(CodeSQL.answers, [])[0].int64(0) == 0)
            #expect(try await register.claim(entry(2)) == .used)
            _ = try await database.superuser.query(CodeSQL.age, [])
            _ = try await database.superuser.query(RetentionSQL.sweepProofsFirst, [])
            #expect(try await register.claim(entry(3)) == .granted)
        }
    }

    /// A refused code yields no tokens, so a flood of them must not stay for a day.
    @Test("A code that the identity provider refused is kept for 15 minutes, others for a day")
    func forgetsRefusals() async throws {
        try await withRegister { database, register in
            for (settlement, next) in [
                (CodeSettlement.answered([1]), CodeClaim.granted), (.kept([1]), .used), (.lost, .used),
            ] {
                _ = try await database.superuser.query(CodeSQL.clear, [])
                _ = try await register.claim(entry(1))
                _ = try await send(register)
                #expect(try await register.settle(Self.name, of: Self.request(1), as: settlement))
                for minutes in [14, 2] as [Int32] {
                    #expect(try await register.claim(entry(2)) != .granted)
                    _ = try await database.superuser.query(CodeSQL.passMinutes, [.int32(minutes)])
                    _ = try await database.superuser.query(RetentionSQL.sweepProofsFirst, [])
                }
                #expect(try await register.claim(entry(3)) == next)
            }
        }
    }

    @Test("The service role cannot read or change the table")
    func isClosed() async throws {
        try await withRegister { database, _ in
            for statement in [CodeSQL.answers, CodeSQL.erase] {
                let refused = try await database.service.refusal(of: statement)
                #expect(refused?.code == "42501", "\(statement.text)")
            }
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
    static let erase = Statement("SELECT native_sso.erase_kept_answers(1)")
}
