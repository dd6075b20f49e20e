import StrictCoding
import BrokerHarness

extension Attack {
    /// Correctly signed tokens with text that two parsers could read differently.
    @ListBuilder static var textAttacks: [Attack] {
        Attack("J-01", "alg is no text") {
            for json in [nil, "null", "7", "[]", #"["ES256"]"#, "true", "{}"] {
                header("alg", json, .malformed("subject_token_header_refused"))
            }
        }
        Attack("J-03", "a compact form with something in it") {
            compact("a full stop before it") { "." + $0 }
            compact("no header") { $0[($0.firstIndex(of: ".") ?? $0.startIndex)...] + "" }
            compact("no claims") { $0.split(separator: ".").first.map { $0 + ".." } ?? "" }
            compact("a letter beyond ASCII") { $0 + "ä" }
            compact("a letter that folds to one of ours") { $0.dropLast() + "\u{212A}" }
            compact("a space that has no width") { $0 + "\u{200B}" }
            compact("a tab", "form_control_character") { $0 + "\t" }
            compact("twice") { $0 + "." + $0 }
            compact("a name before it") { "Bearer " + $0 }
        }
        Attack("J-11", "kid is no name") {
            for json in ["[]", "null", "{}", "true", #""""#] {
                header("kid", json, .malformed("subject_token_header_refused"))
            }
            header("kid", "\"\(String(repeating: "k", count: 2000))\"", .malformed("subject_token_header_refused"))
            header("kid", #""first\u0000""#, .malformed("subject_token_unknown_key"))
            header("kid", #""FIRST""#, .malformed("subject_token_unknown_key"))
            header("kid", #""ｆirst""#, .malformed("subject_token_unknown_key"))
            header("kid", #""\u0066irst""#, .granted)
        }
        Attack("J-16", "typ is no text") {
            for json in ["[]", "null", "7", #"["JWT"]"#] {
                header("typ", json, .malformed("subject_token_header_refused"))
            }
            for json in [#""JWT ""#, #""JWT\u0000""#, #""application/jwt; x=1""#, #""text/jwt""#] {
                header("typ", json, .malformed("subject_token_wrong_typ"))
            }
        }
        Attack("J-20", "claims that are not JSON, and would be to somebody") {
            for text in [
                "01", "+1", ".5", "1.", "0x10", "NaN", "Infinity", "-", "1e", "1e+", "--1", "nul", "TRUE", "'a'", "a",
                #""\x41""#, #""\ud800""#, #""\udc00\ud800""#, #""\u12""#, "\"a\tb\"", "\"a\nb\"", "[1,]", "{,}",
                #"{"a":1,}"#,
                #"{"a" 1}"#, "{a:1}", #"{"a":1,"a":2}"#, #"{"a":1,"\u0061":2}"#, "/**/1", "", "[", "1 2", "\u{A0}1",
            ] {
                claimsText(text.debugDescription, "subject_token_malformed") { $0.dropLast() + #","x":\#(text)}"# }
            }
            claimsText("a byte order mark", "subject_token_malformed") { "\u{FEFF}" + $0 }
            claimsText("NUL behind it", "subject_token_malformed") { $0 + "\0" }
            claimsText("a second object", "subject_token_malformed") { $0 + $0 }
            claimsText("nothing", "subject_token_malformed") { _ in "" }
            claimsText("white space alone", "subject_token_malformed") { _ in "  " }
            claimsText("null", "subject_token_malformed") { _ in "null" }
            for (name, text) in [
                ("white space", " \t\r\n1"), ("numbers that nobody reads", "[-0,1E400,0.1e-9]"),
                ("escapes", #""\ud83d\ude00\/""#),
            ] {
                token(name, .granted) { token, _ in token.rewritesClaims = { $0.dropLast() + #","x":\#(text)}"# } }
            }
        }
        Attack("K-18", "whole numbers written otherwise") {
            for (name, text) in [("with a fraction", ".0"), ("with zeros", ".000")] {
                token(name, .granted) { token, fixture in
                    token.rewritesClaims = { $0.dropLast() + #","nbf":\#(fixture.now - 60)\#(text)}"# }
                }
            }
            token("with an exponent", .granted) { token, _ in
                token.rewritesClaims = { $0.dropLast() + #","nbf":17e8}"# }
            }
            token("minus nothing", .granted) { token, _ in
                token.rewritesClaims = { $0.dropLast() + #","nbf":-0}"# }
            }
        }
        Attack("C-12", "the scheme of the credentials") {
            for value in ["Basic YXBwLXR3bzo= x", "Basic YXBwLXR3bzo=,Basic YXBwLXR3bzo="] {
                scheme(value, .challenged("client_basic_malformed"))
            }
            scheme("Basic\tYXBwLXR3bzo=", .challenged("client_scheme_unknown"))
            scheme("Basic\u{A0}YXBwLXR3bzo=", .challenged("client_scheme_unknown"))
            scheme("BASIC YXBwLXR3bzo=", .granted)
            scheme("Basic YXBw\u{DF}", .challenged("client_basic_malformed"))
            scheme("Basic YXBwAC10d286", .challenged("client_basic_malformed"))
            scheme("Basic YXBw/y10d286", .challenged("client_basic_malformed"))
        }
    }
}

extension Attack {
    static func scheme(_ value: String, _ verdict: Verdict) -> Variant {
        http(value.debugDescription, verdict) { $0.fields.append(("Authorization", value)) }
    }

    private static func compact(
        _ name: String, _ reason: String = "subject_token_malformed",
        _ rewrite: @escaping @Sendable (String) -> String
    ) -> Variant {
        token(name, .malformed(reason)) { token, _ in token.rewritesToken = rewrite }
    }
}
