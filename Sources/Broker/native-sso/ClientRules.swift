import BrokerHTTP
import NativeSSO

/// A setting of a client that a rule may refuse: its key in a registry file and in `client show --json`.
enum ClientSetting: String {
    case audiences, allowedScope = "allowed_scope", defaultScope = "default_scope", introspects
    case accessTokenLifetime = "access_token_lifetime", refreshTokenLifetime = "refresh_token_lifetime"
    case acceptedContextClasses = "accepted_acr", maximumAuthenticationAge = "maximum_authentication_age"
    case copiedClaims = "copied_claims", assertionLifetime = "assertion_lifetime"

    /// Its option of `client add` and `client update`.
    var option: String {
        switch self {
        case .audiences: "--audience"
        case .acceptedContextClasses: "--min-acr"
        case .maximumAuthenticationAge: "--max-auth-age"
        case .copiedClaims: "--claim"
        case .allowedScope, .defaultScope, .introspects, .accessTokenLifetime, .refreshTokenLifetime,
            .assertionLifetime:
            "--" + rawValue.replacing("_", with: "-")
        }
    }
}

/// A setting that no client may have, and the end of a sentence that begins with it.
typealias ClientDefect = (setting: ClientSetting, message: String)

extension Client {
    static let accessTokenLifetimes: ClosedRange<Seconds> = 10 ... .hours(24)
    /// No session lives longer.
    static let refreshTokenLifetimes: ClosedRange<Seconds> = 1 ... .days(400)
    static let authenticationAges: ClosedRange<Seconds> = 1 ... .days(400)
    static let assertionLifetimes: ClosedRange<Seconds> = 10 ... .hours(1)

    /// The rules about all of it. The schema repeats most of them.
    var defects: [ClientDefect] {
        (audiences.isEmpty ? [(.audiences, "must name at least one resource server")] : [])
            + (scopeDefect.map { [$0] } ?? []) + settingDefects
    }

    var scopeDefect: ClientDefect? {
        defaultScope.isSubset(of: allowedScope)
            ? nil : (.defaultScope, "must lie within the allowed scope")
    }

    /// The rules about one setting each.
    var settingDefects: [ClientDefect] { lifetimeDefects + textDefects + claimDefects }

    private var lifetimeDefects: [ClientDefect] {
        let lifetimes: [(ClientSetting, Seconds?, ClosedRange<Seconds>)] = [
            (.accessTokenLifetime, accessTokenLifetime, Self.accessTokenLifetimes),
            (.refreshTokenLifetime, refreshTokenLifetime, Self.refreshTokenLifetimes),
            (.maximumAuthenticationAge, maximumAuthenticationAge, Self.authenticationAges),
            (.assertionLifetime, assertionLifetime, Self.assertionLifetimes),
        ]
        return lifetimes.compactMap { setting, span, bounds in
            guard let span, !bounds.contains(span) else { return nil }
            return (
                setting,
                "must be from \(DurationText.format(bounds.lowerBound)) to \(DurationText.format(bounds.upperBound))"
            )
        }
    }

    private var textDefects: [ClientDefect] {
        let lists: [(ClientSetting, [String])] = [
            (.audiences, audiences), (.acceptedContextClasses, acceptedContextClasses), (.introspects, introspects),
        ]
        var defects: [ClientDefect] = []
        for (setting, values) in lists {
            if values.contains(where: { Issuer($0) == nil }) {
                defects.append((setting, "takes printable ASCII"))
            }
            // A repeated value would turn the `aud` of one resource server into a list.
            if Set(values).count != values.count { defects.append((setting, "takes each value once")) }
        }
        if acceptedContextClasses.contains(where: { $0.utf8.contains(UInt8(ascii: " ")) }) {
            defects.append((.acceptedContextClasses, "takes values without spaces, one after the other"))
        }
        return defects
    }

    private var claimDefects: [ClientDefect] {
        guard copiedClaims.count <= CopiedClaims.mostNames, Set(copiedClaims).count == copiedClaims.count,
            copiedClaims.allSatisfy({ ClientID($0) != nil && !$0.utf8.contains(UInt8(ascii: " ")) })
        else {
            return [
                (
                    .copiedClaims,
                    "takes at most \(CopiedClaims.mostNames) names, each once, of printable ASCII without spaces"
                )
            ]
        }
        return copiedClaims.filter(CopiedClaims.isReserved).map {
            (.copiedClaims, "\($0): the broker sets this claim itself, or no access token may have it")
        }
    }

    /// Why it would be answered 503: an algorithm without an active key.
    /// - Parameter active: The algorithms of the active keys.
    func algorithmDefect(_ active: Set<KeyAlgorithm>) -> String? {
        let wanted = Set([accessTokenAlgorithm, idTokenAlgorithm].compactMap(\.self))
        guard let missing = wanted.subtracting(active).map(\.rawValue).min() else { return nil }
        return "no \(missing) key is active; make one with: native-sso key generate --use access-token --algorithm "
            + "\(missing), and activate it once it was published for 24 h"
    }
}
