/// An HTML page. Every one says that this provider is for development only.
struct Page: Sendable {
    let title: String
    /// Markup; whatever came from outside has gone through ``escape(_:)``.
    let content: String

    static let warning = "For development only. Everybody who reads its source knows the passwords of this server."

    static let styleAddress = "/style.css"

    static let style = """
        body { font: 16px/1.5 system-ui, sans-serif; margin: 3rem auto; max-width: 24rem; padding: 0 1rem; }
        label, input, button { display: block; font: inherit; width: 100%; box-sizing: border-box; }
        input, button { margin: 0.25rem 0 1rem; padding: 0.5rem; }
        .warning { background: #fff3cd; border: 1px solid #b58900; padding: 0.5rem 1rem; }
        .problem { color: #a40000; }

        """

    var html: String {
        """
        <!doctype html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>\(Self.escape(title)) – development identity provider</title>
        <link rel="stylesheet" href="\(Self.styleAddress)">
        </head>
        <body>
        <p class="warning">\(Self.warning)</p>
        <h1>\(Self.escape(title))</h1>
        \(content)
        </body>
        </html>

        """
    }

    /// The text with everything replaced that means something in HTML, in elements and in quoted attributes.
    static func escape(_ text: String) -> String {
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
