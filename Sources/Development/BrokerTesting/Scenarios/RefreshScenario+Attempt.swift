package import NativeSSO

extension RefreshScenario {
    /// Asks a registry as the broker does, and judges its answer by the rules of the core.
    package func attempt(on registry: any GrantRegistry) async throws -> RefreshAttempt {
        let asked = rotation
        let facts = try await registry.rotate(asked)
        do throws(RefreshError) {
            return RefreshAttempt(facts: facts, decision: .success(try decide(asked, facts).0))
        } catch {
            return RefreshAttempt(facts: facts, decision: .failure(error))
        }
    }
}

/// What a registry answered, and what the rules make of it.
package struct RefreshAttempt: Sendable {
    package let facts: RotationFacts
    package let decision: Result<RefreshDecision, RefreshError>

    package var refusal: RefreshRefusal? {
        if case .failure(.refused(let refusal)) = decision { refusal } else { nil }
    }

    package var success: RefreshDecision? {
        if case .success(let decision) = decision { decision } else { nil }
    }

    /// Where rules and registry disagree.
    package var defect: String? {
        if case .failure(.broken(let defect)) = decision { defect } else { nil }
    }
}
