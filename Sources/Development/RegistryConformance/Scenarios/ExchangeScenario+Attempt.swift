package import NativeSSO
import Testing

extension ExchangeScenario {
    package var checks: ExchangeChecks {
        get throws {
            checks(
                of: request, claims, fitsDevice: request.fitsDevice(of: claims, hash: try #require(deviceHash)))
        }
    }

    func checks(
        of request: ExchangeRequest, _ claims: IDTokenClaims, fitsDevice: Bool, needsScope: Bool = true
    ) -> ExchangeChecks {
        ExchangeChecks(
            of: request, claims, fitsDevice: fitsDevice, needsScope: needsScope,
            scopesRequiringConsent: scopesRequiringConsent, idleLimit: lifetimes.sessionIdle, at: now)
    }

    package var admission: Admission {
        get throws {
            Admission(
                request, claims, sid: sessionID.digest, try checks, device: try digest(),
                milliseconds: now.seconds &* 1000)
        }
    }

    /// Asks a registry as the broker does, and judges its answer by the rules of the core.
    package func attempt(on registry: any GrantRegistry) async throws -> ExchangeAttempt {
        let asked = try admission
        let facts = try await registry.admit(asked)
        let decision = Result { () throws(ExchangeError) in try decide(asked, facts) }
        return ExchangeAttempt(facts: facts, decision: decision)
    }
}

/// What a registry answered, and what the rules make of it.
package struct ExchangeAttempt: Sendable {
    package let facts: AdmissionFacts
    package let decision: Result<GrantFacts, ExchangeError>

    package var refusal: ExchangeRefusal? {
        if case .failure(.refused(let refusal)) = decision { refusal } else { nil }
    }

    package var grant: GrantFacts? {
        if case .success(let grant) = decision { grant } else { nil }
    }

    /// Where rules and registry disagree.
    package var defect: String? {
        if case .failure(.broken(let defect)) = decision { defect } else { nil }
    }
}
