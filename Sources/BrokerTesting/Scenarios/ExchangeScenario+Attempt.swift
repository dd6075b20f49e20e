package import NativeSSO
import Testing

extension ExchangeScenario {
    package var appraisal: Appraisal {
        get throws {
            Appraisal(
                of: request, claims, deviceHash: try #require(deviceHash),
                scopesRequiringConsent: scopesRequiringConsent, idleLimit: lifetimes.sessionIdle, at: now)
        }
    }

    package var admission: Admission {
        get throws {
            Admission(
                request, claims, try appraisal, device: try digest(), milliseconds: now.seconds &* 1000)
        }
    }

    /// Asks a registry as the broker does, and judges its answer by the rules of the core.
    package func attempt(on registry: any GrantRegistry) async throws -> ExchangeAttempt {
        let facts = try await registry.admit(try admission)
        let appraisal = try appraisal
        let decision = Result { () throws(ExchangeError) in try decide(appraisal, facts) }
        return ExchangeAttempt(facts: facts, decision: decision)
    }
}

/// What a registry answered, and what the rules make of it.
package struct ExchangeAttempt: Sendable {
    package let facts: AdmissionFacts
    package let decision: Result<Grant, ExchangeError>

    package var refusal: ExchangeRefusal? {
        if case .failure(.refused(let refusal)) = decision { refusal } else { nil }
    }

    package var grant: Grant? {
        if case .success(let grant) = decision { grant } else { nil }
    }

    /// Where rules and registry disagree.
    package var defect: String? {
        if case .failure(.broken(let defect)) = decision { defect } else { nil }
    }
}
