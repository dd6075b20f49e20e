import BrokerTesting
@testable import NativeSSO
import Synchronization
import RegistryConformance
import Testing

/// Limits on codes in flight at one IdP: in total, for each app and for each address.
@Suite struct RelaySlotsTests {
    /// All places are taken: the request is refused, and its code stays usable.
    @Test func tooManyAtOnce() async throws {
        var fixture = try CodeFixture()
        fixture.policy = CodeRelayPolicy(timeout: 5, atOnce: 1)
        fixture.relay.answer(.waits(CodeFixture.tokens))
        let broker = fixture.broker()
        let request = fixture.request
        async let first = broker.run(request)
        await fixture.relay.untilAsked(1)
        fixture.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: fixture.code.verifier)
        fixture.number = 2
        do throws(CodeError) {
            _ = try await broker.run(fixture.request)
            Issue.record("there was a place")
        } catch {
            #expect(Failure(error) == .refused(.relay(.relayBusy)))
        }
        #expect(broker.codesInFlight == 1)
        fixture.relay.goOn()
        _ = try await first
        #expect(broker.codesInFlight == 0 && fixture.relay.codes.count == 1)
        fixture.relay.answer(.tokens(CodeFixture.tokens))
        fixture.login.idTokens.answer(.claims(fixture.idToken(atHash: nil)))
        // The code was not spent. It yields the same id_token as the first code.
        #expect(await fixture.failure() == .refused(.enrolment(.tokenUsed)))
    }

    /// Received tokens are in memory only. They keep their place until the database stores them or the caller is told
    /// to retry.
    @Test func whatIsBeingKept() async throws {
        var fixture = try CodeFixture()
        fixture.policy = CodeRelayPolicy(timeout: 5, atOnce: 1)
        fixture.pauses.caller = Array(repeating: .milliseconds(1), count: 10_000)
        fixture.register.fail(.settle, with: .outage(Outage(.database, "told to")))
        let (broker, request) = (fixture.broker(), fixture.request)
        async let first = broker.run(request)
        while fixture.register.settlements.isEmpty { await Task.yield() }
        #expect(broker.codesInFlight == 1)
        fixture.register.fail(.settle, with: nil)
        _ = try await first
        #expect(broker.codesInFlight == 0)
    }

    /// One app may hold four of eight places, and one address two. A flood at an IdP that hangs leaves room for others.
    @Test func aFlood() async throws {
        var fixture = try CodeFixture()
        fixture.policy = CodeRelayPolicy(timeout: 5, atOnce: 8)
        fixture.relay.answer(.waits(CodeFixture.tokens))
        let broker = fixture.broker()
        var hanging: [Task<Void, Never>] = []
        /// The answer to the next code; `nil` if the code is at the IdP.
        func next(app: String = "app-one", origin: UInt64?) async throws -> Failure<CodeRefusal>? {
            fixture.number += 1
            fixture.code = PresentedCode(
                code: "code-\(fixture.number)", redirectURI: "a:b", verifier: fixture.code.verifier)
            fixture.login.client = Client(
                id: ClientID(validated: app), allowedScope: Scope(["openid"]), defaultScope: Scope(["openid"]),
                audiences: ["https://api.example.com"])
            fixture.origin = origin
            let (request, before) = (fixture.request, fixture.relay.codes.count)
            let settled = fixture.register.settlements.count
            let refused = Mutex<Failure<CodeRefusal>?>(nil)
            let task = Task {
                do throws(CodeError) { _ = try await broker.run(request) } catch {
                    refused.withLock { $0 = Failure(error) }
                }
            }
            while fixture.relay.codes.count == before, fixture.register.settlements.count == settled {
                await Task.yield()
            }
            guard fixture.relay.codes.count == before else {
                hanging.append(task)
                return nil
            }
            await task.value
            return refused.withLock { $0 }
        }
        #expect(try await next(origin: 1) == nil)
        #expect(try await next(origin: 1) == nil)
        #expect(try await next(origin: 1) == .refused(.relay(.relayShareUsed)))
        #expect(try await next(app: "app-two", origin: 1) == .refused(.relay(.relayShareUsed)))
        #expect(try await next(origin: 2) == nil)
        #expect(try await next(origin: nil) == nil)
        #expect(try await next(origin: 3) == .refused(.relay(.relayShareUsed)))
        for origin in [UInt64(3), 3, 4, 5] { #expect(try await next(app: "app-two", origin: origin) == nil) }
        #expect(try await next(app: "app-three", origin: 6) == .refused(.relay(.relayBusy)))
        #expect(broker.codesInFlight == 8)
        fixture.relay.goOn()
        for task in hanging { await task.value }
        #expect(broker.codesInFlight == 0)
        #expect(fixture.register.settlements.filter { $0 == .released }.count == 4)
    }
}

extension CodeEnrolment {
    fileprivate var codesInFlight: Int { slots.count(at: EnrolmentFixture.issuer) }
}
