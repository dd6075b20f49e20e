/// The first form of an HTML page, as far as filling it in needs.
struct HTMLForm: Equatable {
    /// As written; empty for the page's own address.
    let action: String
    /// Lower case.
    let method: String
    /// Names and values of its `input` elements, in the order of the page, without checkboxes and buttons.
    var fields: [(name: String, value: String)]

    /// nil if the page has no form.
    init?(_ html: String) {
        var tags = HTMLTags(html)
        guard let form = tags.first(where: { $0.name == "form" }) else { return nil }
        action = form.attributes["action"] ?? ""
        method = (form.attributes["method"] ?? "get").lowercased()
        fields = []
        while let tag = tags.next(), tag.name != "/form" {
            guard tag.name == "input", let name = tag.attributes["name"] else { continue }
            if ["checkbox", "submit"].contains(tag.attributes["type"]?.lowercased()) { continue }
            fields.append((name, tag.attributes["value"] ?? ""))
        }
    }

    /// Writes into a field. False if the form has no such field.
    mutating func fill(_ name: String, _ value: String) -> Bool {
        guard let index = fields.firstIndex(where: { $0.name == name }) else { return false }
        fields[index].value = value
        return true
    }

    static func == (a: HTMLForm, b: HTMLForm) -> Bool {
        a.action == b.action && a.method == b.method && a.fields.elementsEqual(b.fields, by: ==)
    }
}

/// The tags of an HTML text, one after the other. No parser: it serves pages whose scripts have no tags.
struct HTMLTags: Sequence, IteratorProtocol {
    struct Tag {
        /// Lower case, with the slash of an end tag.
        let name: String
        let attributes: [String: String]
    }

    private var rest: Substring

    init(_ html: String) { rest = html[...] }

    mutating func next() -> Tag? {
        guard let open = rest.firstIndex(of: "<") else { return nil }
        rest = rest[open...].dropFirst()
        let name = take { !$0.isWhitespace && $0 != ">" }
        var attributes: [String: String] = [:]
        while true {
            _ = take { $0.isWhitespace || $0 == "/" }
            guard let next = rest.first, next != ">" else { break }
            let attribute = take { $0 != "=" && $0 != ">" && !$0.isWhitespace }
            guard rest.first == "=" else {
                attributes[attribute.lowercased()] = ""
                continue
            }
            rest = rest.dropFirst()
            attributes[attribute.lowercased()] = value()
        }
        rest = rest.dropFirst()
        return Tag(name: name.lowercased(), attributes: attributes)
    }

    private mutating func value() -> String {
        guard let quote = rest.first, quote == "\"" || quote == "'" else {
            return Self.unescape(take { !$0.isWhitespace && $0 != ">" })
        }
        rest = rest.dropFirst()
        let text = take { $0 != quote }
        rest = rest.dropFirst()
        return Self.unescape(text)
    }

    private mutating func take(while predicate: (Character) -> Bool) -> String {
        let text = rest.prefix(while: predicate)
        rest = rest[text.endIndex...]
        return String(text)
    }

    private static func unescape(_ text: String) -> String {
        // The ampersand last: what it reveals is text.
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")]
            .reduce(text) { $0.replacing($1.0, with: $1.1) }
    }
}
