import BrokerTesting
import RegistryConformance
import NativeSSO
import Testing

/// The core with every port in memory, in the state that a scenario describes.
struct Broker {
    static let issuer = Issuer(validated: "https://sso.example.com")

    let clock: FixedClock
    let idTokens: StubIDTokenVerifier
    let registry: InMemoryGrantRegistry
    let directory: InMemoryClientDirectory
    let keys = SoftwareMACKeys()
    let signer: StubTokenSigner
    let limits = RecordingUseLimits()
    private let lifetimes: Lifetimes
    var subjects: SubjectPrefixes

    init(_ scenario: ExchangeScenario, algorithm: KeyAlgorithm = .es256) async throws {
        clock = FixedClock(seconds: scenario.now.seconds)
        idTokens = StubIDTokenVerifier(.claims(scenario.claims))
        registry = InMemoryGrantRegistry(now: scenario.now)
        directory = InMemoryClientDirectory(
            [scenario.client], scopesRequiringConsent: scenario.scopesRequiringConsent)
        signer = StubTokenSigner(algorithm)
        lifetimes = scenario.lifetimes
        subjects = SubjectPrefixes([scenario.issuer: ""])
        try await scenario.put(into: registry)
    }

    init(_ scenario: RefreshScenario) async throws {
        try await self.init(scenario.exchange)
        try await scenario.put(into: registry)
    }

    private var mint: TokenMint {
        TokenMint(
            issuer: Self.issuer, signer: signer, refreshTokens: keys, lifetimes: lifetimes, subjects: subjects)
    }

    func exchange(_ request: ExchangeRequest) async throws(ExchangeError) -> TokenAnswer {
        var subject = AuditSubject()
        return try await exchange(request, about: &subject)
    }

    func exchange(
        _ request: ExchangeRequest, about subject: inout AuditSubject
    ) async throws(ExchangeError) -> TokenAnswer {
        try await Exchange(
            idTokens: idTokens, registry: registry, directory: directory, devices: keys, limits: limits, mint: mint,
            lifetimes: lifetimes, clock: clock
        ).run(request, about: &subject)
    }

    func refresh(_ request: RefreshRequest) async throws(RefreshError) -> TokenAnswer {
        var subject = AuditSubject()
        return try await Refresh(registry: registry, limits: limits, mint: mint, lifetimes: lifetimes).run(
            request, about: &subject)
    }

    /// Runs an exchange that must fail.
    func failure(
        of request: ExchangeRequest, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Failure<ExchangeRefusal>? {
        do throws(ExchangeError) {
            _ = try await exchange(request)
            Issue.record("it was granted", sourceLocation: sourceLocation)
            return nil
        } catch {
            return Failure(error)
        }
    }

    /// Runs a refresh that must fail.
    func failure(
        of request: RefreshRequest, sourceLocation: SourceLocation = #_sourceLocation
    ) async -> Failure<RefreshRefusal>? {
        do throws(RefreshError) {
            _ = try await refresh(request)
            Issue.record("it was granted", sourceLocation: sourceLocation)
            return nil
        } catch {
            return Failure(error)
        }
    }

    /// Lets time pass, for the broker and for its registry.
    func pass(_ span: Seconds) {
        clock.advance(by: span)
        registry.now = registry.now.adding(span)
    }
}

/// How a grant failed.
enum Failure<Refusal: Error & Equatable>: Equatable, Sendable {
    case invalidIDToken(SubjectTokenDefect)
    case refused(Refusal)
    case limited(RateLimited.Limit)
    case outage(Outage.Component)
    case broken

    init(_ error: GrantError<Refusal>) {
        switch error {
        case .invalidIDToken(let defect): self = .invalidIDToken(defect)
        case .refused(let refusal): self = .refused(refusal)
        case .limited(let limited): self = .limited(limited.limit)
        case .outage(let outage): self = .outage(outage.component)
        case .broken: self = .broken
        }
    }
}
