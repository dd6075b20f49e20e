// swift-format-ignore-file
// Rows of the table of refusals: see RefusalRow.swift.

package import NativeSSO
import OAuthWire

// MARK: Hand-off to a web app. One answer for all that depends on state, binding or relationship

extension HandoffRefusal: RefusalCase {
    package var row: RefusalRow {
        switch self {
        case .notAllowed: .init("handoff_not_allowed",
            "the app may not hand logins to web apps", "The operator can allow it: native-sso group member add --handoff bearer.")
        case .boundApp: .init("handoff_bound_app",
            "the app shows a DPoP key, and may hand off only logins that are not bound to a key",
            "The web app's tokens are not bound to the key of the app. If that is acceptable, the operator allows it: native-sso group member add --handoff dpop.")
        case .webAppUnusable: .init("handoff_web_app_unusable",
            "the web app is unknown, disabled or a public client, or may not exchange",
            "The operator registers it with client_secret_basic or private_key_jwt: native-sso client show.")
        case .webAppOutsideGroup: .init("handoff_web_app_outside_group",
            "the web app may not use logins of the app that logged in",
            "The operator adds the web app to the group of that app with the role target: native-sso group member add.")
        case .originNotRegistered: .init("handoff_origin_not_registered",
            "the web app does not receive logins at this origin",
            "The app opens a registered origin, or the operator registers this one: native-sso group member add --handoff-origin.")

        case .codeUnknown: .init("handoff_code_unknown",
            "the broker did not make the code of the hand-off, or made it more than an hour ago",
            "Send the code unchanged, as the browser brought it. To try again, the web app begins a new hand-off.")
        case .codeExpired: .init("handoff_code_expired",
            "the code of the hand-off is older than 60 seconds", "The web app begins a new hand-off, with a new verifier.")
        case .codeUsed: .init("handoff_code_used",
            "the code of the hand-off was redeemed before",
            "If the web app lost that answer, it begins a new hand-off. If it did not, somebody has read the code: look who else redeems it.")
        case .otherClient: .init("handoff_other_client",
            "the code of the hand-off is for another web app", "The app names the web app that it opens, in handoff_client.")
        case .otherOrigin: .init("handoff_other_origin",
            "the code of the hand-off is for another origin",
            "The web app sends the origin at which the browser brought the code. If it is right, the app opened the code at a wrong place.")
        case .wrongVerifier: .init("handoff_wrong_verifier",
            "the verifier does not fit the challenge: the code was opened in another browser than the one that began the hand-off",
            "The user begins again in this browser. If no user did this, an attacker has tried to log the user in with another account.")
        case .withdrawn: .init("handoff_withdrawn",
            "the app that handed the login off is disabled, or the group does not allow the hand-off any more",
            "The operator looks at the members of the group and at the app: native-sso group show, native-sso client show.")

        case .scopeExceedsHandoff: .init("scope_exceeds_handoff", .scopeBeyondGrant,
            "the scope is beyond the one that the app asked for when it made the code",
            "Ask for less, or name no scope. The app asks for more with its own scope parameter.")
        }
    }
}
