@testable import KeyModule
import NativeSSO
import Testing

@Suite("The steps of a key rotation")
struct KeyRotationTests {
    private let rotation = KeyRotation(publication: .hours(1), signatureLife: .minutes(5), refreshTokenLife: .days(90))
    private let now = UnixTime(seconds: 1_800_000_000)

    private func key(
        _ state: KeyState, _ use: KeyUse = .accessToken, published: Int64? = nil, retired: Int64? = nil
    ) -> KeyRecord {
        .of(
            GeneratedKey(kid: state.rawValue, reference: "r", algorithm: .es256, publicJWK: nil), use, state,
            publishedAt: published.map { UnixTime(seconds: now.seconds - $0) },
            activatedAt: retired.map { UnixTime(seconds: now.seconds - $0 - 1) },
            retiredAt: retired.map { UnixTime(seconds: now.seconds - $0) })
    }

    private func result(
        _ step: KeyRotation.Step, _ record: KeyRecord, among others: [KeyRecord] = [], isForced: Bool = false
    ) -> Result<[KeyState], KeyRotation.Refusal> {
        do throws(KeyRotation.Refusal) {
            return .success(
                try rotation.records(
                    after: step, of: record, among: others + [record], at: now, isForced: isForced
                ).map(\.state))
        } catch {
            return .failure(error)
        }
    }

    private func until(_ seconds: Int64) -> UnixTime { UnixTime(seconds: now.seconds + seconds) }

    @Test func `a key signs when it was published long enough, at the second`() {
        #expect(
            result(.activate, key(.published, published: 3599)) == .failure(.publishedTooShortly(until: until(1))))
        #expect(result(.activate, key(.published, published: 3600)) == .success([.active]))
        #expect(result(.activate, key(.published, published: 0), isForced: true) == .success([.active]))
    }

    @Test func `an unattended rotation takes each step when it is due, at the second`() {
        func due(_ keys: [KeyRecord]) -> KeyRotation.Due {
            rotation.due(.accessToken, .es256, among: keys + [key(.active, .refreshToken)], every: .hours(10), at: now)
        }
        func active(_ seconds: Int64) -> KeyRecord {
            .of(
                GeneratedKey(kid: "a", reference: "r", algorithm: .es256, publicJWK: nil), .accessToken,
                activatedAt: UnixTime(seconds: now.seconds - seconds))
        }
        #expect(due([]) == .generate)
        #expect(due([active(9 * 3600 - 1)]) == .wait(until: until(1)))
        #expect(due([active(9 * 3600)]) == .generate)
        let young = key(.published, published: 3599)
        #expect(due([active(99_999), young]) == .wait(until: until(1)))
        let successor = key(.published, published: 3600)
        #expect(due([active(99_999), successor]) == .take(.activate, successor))
        let old = key(.retired, retired: 300)
        #expect(due([active(1), old]) == .take(.remove, old))
        #expect(due([active(1), key(.retired, retired: 299)]) == .wait(until: until(9 * 3600 - 1)))
        #expect(due([active(99_999), key(.pending)]) == .pending(key(.pending)))
        // A rotation would let a successor sign.
        let suspended = active(99_999).suspended
        #expect(due([suspended, successor]) == .suspended(suspended))
        #expect(due([active(99_999), successor.suspended]) == .suspended(successor.suspended))
        #expect(due([active(1), old.suspended]) == .take(.remove, old.suspended))
    }

    /// A key of a new algorithm would sign for clients that do not know it.
    @Test func `each algorithm that signs takes its own step, and no other is begun`() {
        func key(
            _ algorithm: KeyAlgorithm, _ state: KeyState = .active, _ age: Int64 = 1, of replica: String? = nil
        ) -> KeyRecord {
            let then = UnixTime(seconds: now.seconds - age)
            return .of(
                GeneratedKey(kid: "\(algorithm) \(state)", reference: "r", algorithm: algorithm, publicJWK: nil),
                .accessToken, state, publishedAt: then, activatedAt: state == .published ? nil : then,
                retiredAt: state == .retired ? then : nil, replica: replica)
        }
        func due(_ keys: [KeyRecord], of replica: String? = nil) -> [KeyAlgorithm: KeyRotation.Due] {
            let steps = rotation.due(of: replica, among: keys, every: .hours(10), at: now)
            return Dictionary(uniqueKeysWithValues: steps.map { ($0.algorithm, $0.step) })
        }
        let (rsa, curve) = (key(.rs256, .active, 99_999), key(.es256, .active, 99_999))
        #expect(due([]) == [.es256: .generate])
        #expect(due([rsa]) == [.rs256: .generate])
        #expect(due([key(.rs256, .removed)]) == [.rs256: .generate])
        // One that waits, or that an operator must settle, holds up no other.
        let successor = key(.es256, .published, 3600)
        #expect(due([rsa, curve, successor]) == [.rs256: .generate, .es256: .take(.activate, successor)])
        #expect(due([rsa, curve.suspended]) == [.rs256: .generate, .es256: .suspended(curve.suspended)])
        // What is left of an algorithm that signs no more.
        let retired = key(.es256, .retired, 300)
        #expect(due([rsa, retired]) == [.rs256: .generate, .es256: .take(.remove, retired)])
        #expect(due([rsa, key(.es256, .retired, 299)]) == [.rs256: .generate])
        // The first key of a broker's own is of an algorithm that all brokers sign with.
        #expect(due([key(.rs256)], of: "a") == [.rs256: .generate])
        #expect(due([rsa, key(.ps256, .published, of: "a")], of: "a") == [.ps256: .wait(until: until(3599))])
        #expect(due([rsa, key(.ps256, .active, 99_999, of: "a")], of: "a") == [.ps256: .generate])
        #expect(due([rsa, key(.ps256, of: "a")]) == [.rs256: .generate])
    }

    /// The clock was set back: everything waits, and nothing is made or taken away twice.
    @Test func `keys of the future wait`() {
        let ahead = key(.published, published: -7200)
        #expect(result(.activate, ahead) == .failure(.publishedTooShortly(until: until(3 * 3600))))
        func due(_ keys: [KeyRecord]) -> KeyRotation.Due {
            rotation.due(.accessToken, .es256, among: keys, every: .hours(10), at: now)
        }
        #expect(due([ahead]) == .wait(until: until(3 * 3600)))
        let active = KeyRecord.of(
            GeneratedKey(kid: "a", reference: "r", algorithm: .es256, publicJWK: nil), .accessToken,
            activatedAt: until(7200))
        #expect(due([active, key(.retired, retired: -7200)]) == .wait(until: until(11 * 3600)))
        #expect(result(.remove, key(.retired, retired: -7200)) == .failure(.stillInUse(until: until(7500))))
    }

    @Test func `the keys of a replica take their steps alone`() {
        func own(_ state: KeyState, _ replica: String?) -> KeyRecord {
            .of(
                GeneratedKey(kid: "\(replica ?? "-")", reference: "r", algorithm: .es256, publicJWK: nil), .accessToken,
                state, publishedAt: until(-7200), activatedAt: until(-7200), replica: replica)
        }
        let all = [own(.active, nil), own(.active, "a"), own(.published, "b")]
        #expect(result(.activate, own(.published, "b"), among: all) == .success([.active]))
        #expect(result(.activate, own(.published, "a"), among: all) == .success([.retired, .active]))
        #expect(result(.retire, own(.active, "a"), among: all) == .success([.retired]))
        #expect(result(.retire, own(.active, nil), among: all) == .failure(.onlyActiveKey(.accessToken)))
        func due(_ replica: String?) -> KeyRotation.Due {
            rotation.due(.accessToken, .es256, of: replica, among: all, every: .hours(3), at: now)
        }
        #expect(due("c") == .generate)
        #expect(due("b") == .take(.activate, all[2]))
        #expect(due("a") == .generate && due(nil) == .generate)
    }

    @Test func `activation retires the predecessor of the same use`() {
        let others = [key(.active), key(.active, .refreshToken), key(.retired)]
        #expect(result(.activate, key(.published, published: 9999), among: others) == .success([.retired, .active]))
    }

    @Test func `a key is removed when nothing it made is in use, at the second`() {
        #expect(result(.remove, key(.retired, retired: 299)) == .failure(.stillInUse(until: until(1))))
        #expect(result(.remove, key(.retired, retired: 300)) == .success([.removed]))
        #expect(result(.remove, key(.retired, retired: 0), isForced: true) == .success([.removed]))
        #expect(
            result(.remove, key(.retired, .refreshToken, retired: 300))
                == .failure(.stillInUse(until: until(90 * 86_400 - 300))))
        #expect(result(.remove, key(.published)) == .success([.removed]))  // the key made no token
    }

    @Test func `the active key is retired by force only, the device key never`() {
        #expect(result(.retire, key(.active)) == .failure(.onlyActiveKey(.accessToken)))
        #expect(result(.retire, key(.active), isForced: true) == .success([.retired]))
        #expect(result(.retire, key(.active, .device), isForced: true) == .failure(.deviceKey))
        #expect(result(.remove, key(.retired, .device), isForced: true) == .failure(.deviceKey))
    }

    /// The states from which each step is allowed, regardless of times.
    static let allowed: [KeyRotation.Step: Set<KeyState>] = [
        .publish: [.pending], .activate: [.published], .retire: [.published, .active],
        .remove: [.pending, .published, .retired],
    ]

    @Test(arguments: KeyRotation.Step.allCases, KeyState.allCases)
    func `force does not change the order of the states`(step: KeyRotation.Step, state: KeyState) {
        let isAllowed = Self.allowed[step]?.contains(state) == true
        let result = result(step, key(state), isForced: true)
        #expect(result == .failure(.wrongState(state, step)) || isAllowed)
        if isAllowed { #expect((try? result.get())?.last.map { $0 > state } == true) }
    }
}
