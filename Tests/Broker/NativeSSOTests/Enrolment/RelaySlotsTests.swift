import BrokerTesting
import NativeSSO
import Synchronization
import RegistryConformance
import Testing

/// How many codes are at an identity provider, and whose.
@Suite struct RelaySlotsTests {
    /// Whose places are taken. The code is not.
    @Test func tooManyAtOnce() async throws {
        var stage = try CodeStage()
        stage.policy = CodeRelayPolicy(timeout: 5, atOnce: 1)
        stage.relay.answer(.waits(CodeStage.tokens))
        let broker = stage.broker()
        let request = stage.request
        async let first = broker.run(request)
        await stage.relay.untilAsked(1)
        stage.code = PresentedCode(code: "another", redirectURI: "a:b", verifier: stage.code.verifier)
        stage.number = 2
        do throws(CodeError) {
            _ = try await broker.run(stage.request)
            Issue.record("there was a place")
        } catch {
            #expect(Failure(error) == .refused(.relay(.relayBusy)))
        }
        #expect(broker.codesInFlight == 1)
        stage.relay.goOn()
        _ = try await first
        #expect(broker.codesInFlight == 0 && stage.relay.codes.count == 1)
        stage.relay.answer(.tokens(CodeStage.tokens))
        stage.login.idTokens.answer(.claims(stage.idToken(atHash: nil)))
        // The code was not spent; the id_token that it gives is the first one's.
        #expect(await stage.failure() == .refused(.enrolment(.tokenUsed)))
    }

    /// What came is in memory alone: it has its place until the database has it, or the caller is told to come again.
    @Test func whatIsBeingKept() async throws {
        var stage = try CodeStage()
        stage.policy = CodeRelayPolicy(timeout: 5, atOnce: 1)
        stage.pauses.caller = Array(repeating: .milliseconds(1), count: 10_000)
        stage.register.fail(.settle, with: .outage(Outage(.database, "told to")))
        let (broker, request) = (stage.broker(), stage.request)
        async let first = broker.run(request)
        while stage.register.settlements.isEmpty { await Task.yield() }
        #expect(broker.codesInFlight == 1)
        stage.register.fail(.settle, with: nil)
        _ = try await first
        #expect(broker.codesInFlight == 0)
    }

    /// Of eight places an app has four, and an address two: while some flood a provider that hangs, others get through.
    @Test func aFlood() async throws {
        var stage = try CodeStage()
        stage.policy = CodeRelayPolicy(timeout: 5, atOnce: 8)
        stage.relay.answer(.waits(CodeStage.tokens))
        let broker = stage.broker()
        var hanging: [Task<Void, Never>] = []
        /// What is said to the next code: `nil`: it is at the provider.
        func next(app: String = "app-one", origin: UInt64?) async throws -> Failure<CodeRefusal>? {
            stage.number += 1
            stage.code = PresentedCode(
                code: "code-\(stage.number)", redirectURI: "a:b", verifier: stage.code.verifier)
            stage.login.client = Client(
                id: ClientID(validated: app), allowedScope: Scope(["openid"]), defaultScope: Scope(["openid"]),
                audiences: ["https://api.example.com"])
            stage.origin = origin
            let (request, before) = (stage.request, stage.relay.codes.count)
            let settled = stage.register.settlements.count
            let refused = Mutex<Failure<CodeRefusal>?>(nil)
            let task = Task {
                do throws(CodeError) { _ = try await broker.run(request) } catch {
                    refused.withLock { $0 = Failure(error) }
                }
            }
            while stage.relay.codes.count == before, stage.register.settlements.count == settled { await Task.yield() }
            guard stage.relay.codes.count == before else {
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
        stage.relay.goOn()
        for task in hanging { await task.value }
        #expect(broker.codesInFlight == 0)
        #expect(stage.register.settlements.filter { $0 == .released }.count == 4)
    }
}
