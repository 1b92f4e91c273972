// PTX, as text: into words, and into statements.
//
// In: what nvcc writes. Out: functions and variables, with statements that name what they use. Only what nvcc writes for
// kernels is understood; the rest is refused with its text.
#pragma once
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace ptx {

// Something that the emulator does not know.
struct Unknown : std::runtime_error {
    explicit Unknown(const std::string &what) : std::runtime_error("the emulator does not know " + what) {}
};

// Reads words: names, numbers and single signs.
class Words {
  public:
    explicit Words(const std::string &text) : text(text) { next(); }

    const std::string &now() const { return word; }
    bool is(const char *wanted) const { return word == wanted; }
    bool done() const { return word.empty(); }

    std::string take() {
        std::string taken = word;
        next();
        return taken;
    }
    bool took(const char *wanted) {
        if (!is(wanted)) return false;
        next();
        return true;
    }
    void expect(const char *wanted) {
        if (!took(wanted)) throw Unknown("what is before `" + word + "`, where `" + wanted + "` is missing");
    }
    // Everything up to this sign, and the sign.
    void skip_to(const char *sign) {
        while (!done() && !took(sign)) next();
    }

  private:
    void next() {
        skip_space();
        size_t from = at;
        if (at < text.size() && text[at] == '"') {
            at = text.find('"', at + 1) + 1;
        } else if (at < text.size() && is_part(text[at])) {
            // `L1::no_allocate` and `acc::f32` are one word.
            while (at < text.size() && (is_part(text[at]) || text.compare(at, 2, "::") == 0)) at += is_part(text[at]) ? 1 : 2;
        } else if (at < text.size()) {
            ++at;
        }
        word = text.substr(from, at - from);
    }
    void skip_space() {
        for (;;) {
            while (at < text.size() && isspace((unsigned char)text[at])) ++at;
            if (text.compare(at, 2, "//") == 0) {
                at = std::min(text.find('\n', at), text.size());
            } else if (text.compare(at, 2, "/*") == 0) {
                at = std::min(text.find("*/", at), text.size() - 2) + 2;
            } else {
                return;
            }
        }
    }
    static bool is_part(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.'; }

    const std::string &text;
    size_t at = 0;
    std::string word;
};

// What a statement uses.
struct Operand {
    enum Kind { REGISTER, NUMBER, NAME, ADDRESS, LIST } kind = NUMBER;
    uint64_t number = 0;         // a number, the place of a register, or what is added to an address
    std::string name;            // of a variable or a label; the base of an address
    std::vector<Operand> parts;  // of a list; the register of an address
};

struct Statement {
    std::string text;                // the instruction: `st.global.v4.u32`
    std::vector<std::string> words;  // its words
    std::vector<Operand> operands;
    int guard = -1;  // the register of its predicate
    bool guard_inverted = false;
    // Of a call:
    std::string callee;
    std::vector<std::string> results, arguments;
};

// Memory with a name: of a parameter, a variable, or of each thread.
struct Variable {
    size_t bytes = 0;
    std::vector<uint8_t> initial;
};

struct Function {
    std::string name;
    std::vector<std::string> results, parameters;
    std::map<std::string, Variable> own;     // parameters, those of its calls, and its local memory
    std::vector<Statement> body;
    std::map<std::string, size_t> labels;
    size_t registers = 0;
};

struct Module {
    std::map<std::string, Function> functions;
    std::map<std::string, Variable> variables;
    std::map<std::string, Variable> shared;  // of each block; as large as the launch says if it has no bytes
};

// Reads a module.
class Reader {
  public:
    explicit Reader(const std::string &text) : words(text) {}

    Module module() {
        Module read;
        while (!words.done()) {
            const std::string word = words.take();
            if (word == ".version" || word == ".target" || word == ".address_size") {
                words.take();
                while (words.took(",")) words.take();
            } else if (word == ".visible" || word == ".weak" || word == ".extern") {
                continue;
            } else if (word == ".entry" || word == ".func") {
                function(read);
            } else if (word == ".shared") {
                auto [name, made] = variable();
                read.shared[name] = made;
            } else if (word == ".global" || word == ".const") {
                auto [name, made] = variable();
                read.variables[name] = made;
            } else {
                throw Unknown("`" + word + "` outside of functions");
            }
        }
        return read;
    }

  private:
    void function(Module &module) {
        Function made;
        if (words.is("(")) made.results = parameters(made);
        made.name = words.take();
        if (words.is("(")) made.parameters = parameters(made);
        while (!words.is("{") && !words.is(";")) words.take();  // how it may be launched
        if (words.took(";")) return;                            // it comes later
        scopes.assign(1, {});
        words.expect("{");
        block(module, made);
        module.functions[made.name] = std::move(made);
    }

    std::vector<std::string> parameters(Function &function) {
        std::vector<std::string> names;
        words.expect("(");
        while (!words.took(")")) {
            words.expect(".param");
            auto [name, made] = declared();
            function.own[name] = made;
            names.push_back(name);
            words.took(",");
        }
        return names;
    }

    // Statements up to the end of a scope.
    void block(Module &module, Function &function) {
        while (!words.took("}")) {
            if (words.done()) throw Unknown("the end of the text within a function");
            if (words.took("{")) {
                scopes.emplace_back();
                block(module, function);
                scopes.pop_back();
            } else {
                statement(module, function);
            }
        }
    }

    void statement(Module &module, Function &function) {
        if (words.took(".reg")) return registers(function);
        if (words.took(".param") || words.took(".local")) {
            auto [name, made] = variable();
            // Each call has its own `param0`; they take turns in the place of the largest.
            Variable &own = function.own[name];
            own.bytes = std::max(own.bytes, made.bytes);
            return;
        }
        if (words.took(".shared")) {
            auto [name, made] = variable();
            module.shared[name] = made;
            return;
        }
        if (words.is(".pragma")) return words.skip_to(";");
        Statement made;
        if (words.took("@")) {
            made.guard_inverted = words.took("!");
            made.guard = (int)known(words.take());
        }
        const std::string word = words.take();
        if (words.took(":")) {
            function.labels[word] = function.body.size();
            return;
        }
        made.text = word;
        made.words = split(word);
        if (made.words[0] == "call") {
            call(made);
        } else {
            while (!words.took(";")) {
                made.operands.push_back(operand());
                if (!words.took(",")) words.took("|");
            }
        }
        function.body.push_back(std::move(made));
    }

    void call(Statement &made) {
        auto names = [&] {
            std::vector<std::string> list;
            words.expect("(");
            while (!words.took(")")) {
                list.push_back(words.take());
                words.took(",");
            }
            words.took(",");
            return list;
        };
        if (words.is("(")) made.results = names();
        made.callee = words.take();
        words.took(",");
        if (words.is("(")) made.arguments = names();
        words.skip_to(";");
    }

    void registers(Function &function) {
        words.take();  // their type: each has 64 bits here
        do {
            const std::string name = words.take();
            if (words.took("<")) {
                const size_t count = std::stoul(words.take());
                words.expect(">");
                for (size_t k = 0; k < count; ++k) scopes.back()[name + std::to_string(k)] = function.registers++;
            } else {
                scopes.back()[name] = function.registers++;
            }
        } while (words.took(","));
        words.expect(";");
    }

    // `.align 8 .b8 name[16]`, up to what comes after it.
    std::pair<std::string, Variable> declared() {
        size_t each = 0;
        while (words.now()[0] == '.') {
            const std::string word = words.take();
            if (word == ".align") {
                words.take();
            } else if (word != ".ptr" && word.find_first_of("0123456789") != std::string::npos) {
                each = std::stoul(word.substr(word.find_first_of("0123456789"))) / 8;
            }
        }
        const std::string name = words.take();
        Variable made{each, {}};
        while (words.took("[")) {
            made.bytes *= words.is("]") ? 0 : std::stoul(words.take());
            words.expect("]");
        }
        if (each == 0) throw Unknown("the type of `" + name + "`");
        return {name, made};
    }
    std::pair<std::string, Variable> variable() {
        auto [name, made] = declared();
        if (words.took("=")) {
            words.expect("{");
            while (!words.took("}")) {
                made.initial.push_back((uint8_t)std::stoul(words.take()));
                words.took(",");
            }
            if (made.initial.size() > made.bytes) throw Unknown("the numbers of `" + name + "`, which are not bytes");
        }
        words.expect(";");
        return {name, made};
    }

    Operand operand() {
        Operand made;
        if (words.took("[")) {
            made.kind = Operand::ADDRESS;
            const Operand base = operand();
            if (base.kind == Operand::NAME) made.name = base.name;
            else made.parts.push_back(base);
            if (words.took("+")) made.number = operand().number;
            words.expect("]");
        } else if (words.took("{")) {
            made.kind = Operand::LIST;
            while (!words.took("}")) {
                made.parts.push_back(operand());
                words.took(",");
            }
        } else if (words.took("-")) {
            made.number = -operand().number;
        } else if (isdigit((unsigned char)words.now()[0])) {
            made.number = number(words.take());
        } else {
            made.name = words.take();
            made.kind = Operand::NAME;
            if (const size_t *place = find(made.name)) {
                made.kind = Operand::REGISTER;
                made.number = *place;
            }
        }
        return made;
    }

    // `12`, `0xff`, and floats by their bits: `0f3F800000`, `0d3FF0000000000000`.
    static uint64_t number(const std::string &word) {
        const bool is_float = word.size() > 2 && word[0] == '0' && strchr("fFdD", word[1]);
        return is_float ? std::stoull(word.substr(2), nullptr, 16) : std::stoull(word, nullptr, 0);
    }

    const size_t *find(const std::string &name) const {
        for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope)
            if (auto found = scope->find(name); found != scope->end()) return &found->second;
        return nullptr;
    }
    size_t known(const std::string &name) const {
        const size_t *place = find(name);
        if (!place) throw Unknown("the register `" + name + "`");
        return *place;
    }

    static std::vector<std::string> split(const std::string &word) {
        std::vector<std::string> parts(1);
        for (char c : word) {
            if (c != '.') parts.back() += c;
            else parts.emplace_back();
        }
        std::vector<std::string> filled;
        for (const std::string &part : parts)
            if (!part.empty()) filled.push_back(part);
        return filled;
    }

    Words words;
    std::vector<std::map<std::string, size_t>> scopes;
};

}  // namespace ptx
